(* What every file of lemmas needs: a step is a lemma about real numbers, its proof a certificate (certificates.py). *)
Require Import Reals Lra.
Open Scope R_scope.

(* ---- Signs that can be read off an expression ---- *)

Ltac number := first [apply (IZR_lt 0); reflexivity | apply (IZR_le 0); discriminate].

Lemma square_positive x : x ^ 2 <> 0 -> 0 < x ^ 2.
Proof. intro H. destruct (pow2_ge_0 x) as [P | Z]; [exact P | congruence]. Qed.

(* Positive (<) or not negative (<=), from the parts of an expression and from what is known of them. *)
Ltac signs :=
  first
  [ assumption
  | lazymatch goal with
    | |- 0 < _ * _ => apply Rmult_lt_0_compat; signs
    | |- 0 < _ / _ => apply Rdiv_lt_0_compat; signs
    | |- 0 < / _ => apply Rinv_0_lt_compat; signs
    | |- 0 < _ ^ _ => first [apply pow_lt; signs | apply square_positive; assumption]
    | |- 0 < _ + _ =>
        first [apply Rplus_lt_le_0_compat; [signs | signs] | apply Rplus_le_lt_0_compat; [signs | signs] | lra]
    | |- 0 <= _ * _ => apply Rmult_le_pos; signs
    | |- 0 <= _ / _ => apply Rle_mult_inv_pos; signs
    | |- 0 <= _ ^ 2 => apply pow2_ge_0
    | |- 0 <= _ ^ _ => apply pow_le; signs
    | |- 0 <= _ + _ => first [apply Rplus_le_le_0_compat; signs | lra]
    | |- 0 < _ - _ => lra
    | |- 0 <= _ - _ => lra
    | |- 0 <= sqrt _ => apply sqrt_pos
    | |- 0 < sqrt _ => apply sqrt_lt_R0; signs
    | |- 0 < exp _ => apply exp_pos
    | |- 0 <= exp _ => apply Rlt_le, exp_pos
    | |- 0 < IZR _ => number
    | |- 0 <= IZR _ => number
    | |- 0 <= _ => apply Rlt_le; assumption
    end ].

Ltac pos := first [signs | lra].

(* Linear arithmetic; a division by what is no number is a product with an inverse. *)
Ltac linear := first [lra | unfold Rdiv in *; lra].

(* What `field` wants to know about divisors. *)
Ltac nonzero :=
  repeat split;
  first
  [ assumption
  | match goal with D : _ <> 0 |- _ => let N := fresh in intro N; apply D; rewrite N; ring end
  | apply Rgt_not_eq; unfold Rgt; pos
  | match goal with D : _ <> 0 |- _ => let N := fresh in intro N; apply D; lra end
  | let N := fresh in intro N; lra
  | match goal with D : _ <> 0 |- _ => let N := fresh in intro N; apply D; solve [nra] end ].

(* Inverses of products as products of inverses: many identities then hold between polynomials in variables and inverses. *)
Ltac inverses := unfold Rdiv; rewrite ?Rinv_mult, <- ?pow_inv.
Tactic Notation "inverse_of" constr(d) := generalize (/ d); intro.
Tactic Notation "inverse_of" constr(d) hyp(E) := revert E; generalize (/ d); intros ? E.

Ltac identity := first [ring | field; nonzero].

Lemma count_positive x : 1 <= x -> 0 < x.
Proof. lra. Qed.
Lemma count_less_one x : 1 <= x -> 0 <= x - 1.
Proof. lra. Qed.

(* ---- Clearing: right - left = n f with f > 0, so that n is to zero as left is to right ---- *)

Lemma clear_le a b n f : a <= b -> 0 < f -> b - a = n * f -> 0 <= n.
Proof. intros H F E. apply Rnot_lt_le; intro N. assert (0 < - n * f) by (apply Rmult_lt_0_compat; lra). lra. Qed.
Lemma clear_lt a b n f : a < b -> 0 < f -> b - a = n * f -> 0 < n.
Proof. intros H F E. apply Rnot_le_lt; intro N. assert (0 <= - n * f) by (apply Rmult_le_pos; lra). lra. Qed.
Lemma clear_ge a b n f : a >= b -> 0 < f -> a - b = n * f -> 0 <= n.
Proof. intros H. apply clear_le. lra. Qed.
Lemma clear_gt a b n f : a > b -> 0 < f -> a - b = n * f -> 0 < n.
Proof. intros H. apply clear_lt. lra. Qed.
Lemma clear_eq a b n f : a = b -> 0 < f -> b - a = n * f -> n = 0.
Proof. intros H F E. assert (Z : n * f = 0) by lra. destruct (Rmult_integral _ _ Z); lra. Qed.

Lemma restore_le a b n f : 0 <= f -> b - a = n * f -> 0 <= n -> a <= b.
Proof. intros F E N. assert (0 <= n * f) by (apply Rmult_le_pos; lra). lra. Qed.
Lemma restore_lt a b n f : 0 < f -> b - a = n * f -> 0 < n -> a < b.
Proof. intros F E N. assert (0 < n * f) by (apply Rmult_lt_0_compat; lra). lra. Qed.
Lemma restore_ge a b n f : 0 <= f -> a - b = n * f -> 0 <= n -> a >= b.
Proof. intros F E N. apply Rle_ge. exact (restore_le _ _ n f F E N). Qed.
Lemma restore_gt a b n f : 0 < f -> a - b = n * f -> 0 < n -> a > b.
Proof. intros F E N. exact (restore_lt _ _ n f F E N). Qed.
Lemma restore_eq a b n f : 0 < f -> b - a = n * f -> 0 <= n -> 0 <= - n -> a = b.
Proof. intros F E N M. assert (Z : n = 0) by lra. rewrite Z in E. lra. Qed.
Lemma restore_ne a b n f : 0 < f -> b - a = n * f -> n <> 0 -> a <> b.
Proof. intros F E N H. assert (Z : n * f = 0) by lra. destruct (Rmult_integral _ _ Z); lra. Qed.

(* ---- A divisor of what is not zero is not zero ---- *)

Lemma divide_nonzero D d q : D <> 0 -> D - 0 = d * q -> d <> 0.
Proof. intros H E Z. apply H. rewrite Z in E. lra. Qed.
Lemma divide_positive d : d <> 0 -> 0 <= d -> 0 < d.
Proof. lra. Qed.
Lemma divide_square d p : d <> 0 -> p = d * d -> 0 < p.
Proof. intros H E. rewrite E. exact (Rsqr_pos_lt d H). Qed.

(* ---- Certificates: the opposite leads to products that add up to less than nothing ---- *)

Lemma opposite_le n : (0 < - n -> False) -> 0 <= n.
Proof. intro H. apply Rnot_lt_le; intro N. apply H; lra. Qed.
Lemma opposite_lt n : (0 <= - n -> False) -> 0 < n.
Proof. intro H. apply Rnot_le_lt; intro N. apply H; lra. Qed.

Lemma scaled_lt c p : 0 < c -> 0 < p -> 0 < c * p.
Proof. apply Rmult_lt_0_compat. Qed.
Lemma scaled_le c p : 0 < c -> 0 <= p -> 0 <= c * p.
Proof. intros; apply Rmult_le_pos; lra. Qed.
Lemma scaled_eq c p : p = 0 -> 0 <= c * p.
Proof. intros ->. rewrite Rmult_0_r. apply Rle_refl. Qed.

Lemma zero_product m n : n = 0 -> m * n = 0.
Proof. intro H. rewrite H. ring. Qed.
Lemma even_power x k : 0 <= x ^ (2 * k).
Proof. rewrite pow_mult. apply pow_le, pow2_ge_0. Qed.

(* ---- Guards of a claim come before it, and may be used for it ---- *)

Lemma and_then (A B : Prop) : A -> (A -> B) -> A /\ B.
Proof. tauto. Qed.

(* ---- Roots and absolute values as variables ---- *)

Lemma root_case (P : R -> Prop) a : (forall r, 0 <= r -> (0 <= a -> r ^ 2 = a) -> P r) -> P (sqrt a).
Proof. intro H. apply H; [apply sqrt_pos | exact (pow2_sqrt a)]. Qed.
Lemma root_positive r a : 0 <= r -> r ^ 2 = a -> 0 < a -> 0 < r.
Proof. intros N E A. destruct N as [N | N]; [exact N | exfalso; rewrite <- N in E; lra]. Qed.
Lemma root_count r a : 0 <= r -> r ^ 2 = a -> 1 <= a -> 1 <= r.
Proof.
  intros N E A. apply Rnot_lt_le; intro H.
  assert (0 <= r * (1 - r)) by (apply Rmult_le_pos; lra). lra.
Qed.
Lemma abs_case (P : R -> Prop) a : (0 <= a -> P a) -> (a <= 0 -> P (- a)) -> P (Rabs a).
Proof. intros H G. unfold Rabs. destruct (Rcase_abs a); [apply G | apply H]; lra. Qed.

(* ---- Facts of a proof: the slack of each is a sum of parts that are >= 0, or = 0 for an equation ---- *)

Lemma by_slack_le q v s : v - q = s -> 0 <= s -> q <= v.
Proof. lra. Qed.
Lemma by_slack_ge q v s : q - v = s -> 0 <= s -> q >= v.
Proof. lra. Qed.
Lemma by_slack_eq q v s : v - q = s -> s = 0 -> q = v.
Proof. lra. Qed.

Lemma part_le l q v : 0 <= l -> q <= v -> 0 <= l * (v - q).
Proof. intros; apply Rmult_le_pos; lra. Qed.
Lemma part_ge l q v : 0 <= l -> q >= v -> 0 <= l * (q - v).
Proof. intros; apply Rmult_le_pos; lra. Qed.
Lemma part_equal l q v : q = v -> l * (v - q) = 0.
Proof. intros ->; ring. Qed.
Lemma part_zero l e : e = 0 -> l * e = 0.
Proof. intros ->; ring. Qed.
Lemma part_none l e : l = 0 -> l * e = 0.
Proof. intros ->; ring. Qed.
Lemma part_least l e : 0 <= l -> 0 <= e -> 0 <= l * e.
Proof. apply Rmult_le_pos. Qed.
Lemma zero_least e : e = 0 -> 0 <= e.
Proof. lra. Qed.
Lemma at_least_zero e : e >= 0 -> 0 <= e.
Proof. lra. Qed.
Lemma not_less a b : a >= b -> 0 <= a - b.
Proof. lra. Qed.
Lemma both a b : a >= b -> a <= b -> a - b = 0.
Proof. lra. Qed.
Lemma sum_zero a b : a = 0 -> b = 0 -> a + b = 0.
Proof. lra. Qed.

Lemma exp_grows a b : a <= b -> 0 <= exp b - exp a.
Proof. intros [H | ->]; [apply exp_increasing in H; lra | lra]. Qed.
Lemma power_grows a b n : 0 <= a -> a <= b -> 0 <= b ^ n - a ^ n.
Proof. intros A H. assert (a ^ n <= b ^ n) by (apply pow_incr; lra). lra. Qed.

Ltac all_least :=
  lazymatch goal with
  | |- 0 <= _ + _ => apply Rplus_le_le_0_compat; all_least
  | |- 0 <= 0 => apply Rle_refl
  | |- _ => assumption
  end.
Ltac all_zero :=
  lazymatch goal with
  | |- _ + _ = 0 => apply sum_zero; all_zero
  | |- 0 = 0 => reflexivity
  | |- _ => assumption
  end.

(* A step of a proof, whose last claim is the one that is needed: the others are guards. *)
Ltac by_step s :=
  first [eapply s | eapply proj2; eapply s | eapply proj2; eapply proj2; eapply s];
  first [assumption | solve [pos]].

(* In an identity, a variable whose root occurs is the square of a new variable. *)
Ltac root_of a :=
  repeat match goal with H := _ |- _ => clearbody H end;
  let E := fresh in
  let r := fresh "r" in
  assert (E : a = (sqrt a) ^ 2) by (symmetry; apply pow2_sqrt; pos);
  try assert (0 < sqrt a) by pos;
  remember (sqrt a) as r; try rewrite E.
