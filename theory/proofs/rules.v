(* The inference rules of the proofs (rules.py, sequences.py), each as a lemma with its proof.

   A space of vectors is whatever has an inner product: R^d, or random vectors with E<x, y>.  There <x, x> = 0 may hold for
   a vector that is not zero everywhere, so no lemma needs two vectors to be equal: they speak of products only. *)
Require Import Reals Lra Lia Arith.
Open Scope R_scope.

(* ---- Finite sums: f 0 + ... + f (n - 1) ---- *)

Fixpoint sum (n : nat) (f : nat -> R) : R :=
  match n with
  | O => 0
  | S m => sum m f + f m
  end.

Lemma sum_next n f : sum (S n) f = sum n f + f n.
Proof. reflexivity. Qed.
Lemma sum_ext n f g : (forall i, (i < n)%nat -> f i = g i) -> sum n f = sum n g.
Proof. induction n; simpl; intro H; [reflexivity |]. rewrite IHn, H; auto with arith. Qed.
Lemma sum_add n f g : sum n (fun i => f i + g i) = sum n f + sum n g.
Proof. induction n; simpl; [lra |]. rewrite IHn; ring. Qed.
Lemma sum_scale n a f : sum n (fun i => a * f i) = a * sum n f.
Proof. induction n; simpl; [lra |]. rewrite IHn; ring. Qed.
Lemma sum_sub n f g : sum n (fun i => f i - g i) = sum n f - sum n g.
Proof. induction n; simpl; [lra |]. rewrite IHn; ring. Qed.
Lemma sum_const n c : sum n (fun _ => c) = INR n * c.
Proof. induction n; [simpl; lra |]. rewrite sum_next, IHn, S_INR; ring. Qed.
Lemma sum_le n f g : (forall i, (i < n)%nat -> f i <= g i) -> sum n f <= sum n g.
Proof.
  induction n; simpl; intro H; [lra |].
  apply Rplus_le_compat; [apply IHn |]; intros; apply H; lia.
Qed.
Lemma sum_least n f : (forall i, (i < n)%nat -> 0 <= f i) -> 0 <= sum n f.
Proof. intro H. replace 0 with (sum n (fun _ => 0)); [now apply sum_le | rewrite sum_const; ring]. Qed.
Lemma sum_split m n f : sum (m + n) f = sum m f + sum n (fun i => f (m + i)%nat).
Proof. induction n; simpl; [rewrite Nat.add_0_r; lra |]. rewrite Nat.add_succ_r; simpl. rewrite IHn; ring. Qed.
Lemma sum_first n f : sum (S n) f = f O + sum n (fun i => f (S i)).
Proof. change (S n) with (1 + n)%nat. rewrite sum_split. simpl; ring. Qed.
(* SUMS_COMMUTE *)
Lemma sums_commute m n f : sum m (fun i => sum n (f i)) = sum n (fun j => sum m (fun i => f i j)).
Proof. induction m; simpl; [rewrite sum_const; ring |]. rewrite IHm, <- sum_add. reflexivity. Qed.
(* TELESCOPED, for numbers *)
Lemma telescoping n f : sum n (fun t => f (S t) - f t) = f n - f O.
Proof. induction n; simpl; [ring |]. rewrite IHn; ring. Qed.
Lemma sum_product m n f g : sum m f * sum n g = sum m (fun i => sum n (fun j => f i * g j)).
Proof.
  rewrite Rmult_comm, <- sum_scale. apply sum_ext; intros. rewrite sum_scale; ring.
Qed.

(* over_steps: the sums of k and of k^2 over k = 0 ... n - 1 *)
Lemma sum_of_counts n : sum n INR = INR n * (INR n - 1) / 2.
Proof. induction n; [simpl; lra |]. rewrite sum_next, IHn, S_INR; field. Qed.
Lemma sum_of_squares n : sum n (fun k => INR k ^ 2) = INR n * (INR n - 1) * (2 * INR n - 1) / 6.
Proof. induction n; [simpl; lra |]. rewrite sum_next, IHn, S_INR; field. Qed.
Lemma sum_of_powers n a b c :
  sum n (fun k => a + b * INR k + c * INR k ^ 2)
  = a * INR n + b * (INR n * (INR n - 1) / 2) + c * (INR n * (INR n - 1) * (2 * INR n - 1) / 6).
Proof.
  rewrite !sum_add, sum_const, (sum_scale n b INR), (sum_scale n c (fun k => INR k ^ 2)), sum_of_counts, sum_of_squares.
  ring.
Qed.

(* powers, "summed over the steps": a bound on each step, added up *)
Lemma summed n q a b c :
  (forall k, (k < n)%nat -> q k <= a + b * INR k + c * INR k ^ 2) ->
  sum n q
  <= a * INR n + b * (INR n * (INR n - 1) / 2) + c * (INR n * (INR n - 1) * (2 * INR n - 1) / 6).
Proof. intro H. rewrite <- sum_of_powers. now apply sum_le. Qed.
(* "added up over the rounds": m rounds of n steps *)
Lemma sum_by_rounds m n f : sum (m * n) f = sum m (fun r => sum n (fun k => f (r * n + k)%nat)).
Proof.
  induction m; [reflexivity |]. rewrite sum_next, <- IHm, <- sum_split. f_equal. lia.
Qed.

(* PART, for numbers: what is kept of a sum of parts >= 0 *)
Lemma part_of_sum n keep f :
  (forall i, (i < n)%nat -> 0 <= f i) -> sum n (fun i => if keep i : bool then f i else 0) <= sum n f.
Proof. intro H. apply sum_le; intros i I. destruct (keep i); [lra | auto]. Qed.
Lemma sum_only n i f : (i < n)%nat -> sum n (fun j => if (i =? j)%nat then f j else 0) = f i.
Proof.
  induction n; intro I; [lia |]. simpl. destruct (Nat.eqb_spec i n) as [-> | N].
  - rewrite (sum_ext n _ (fun _ => 0)); [rewrite sum_const; ring |].
    intros j J. destruct (Nat.eqb_spec n j); [lia | reflexivity].
  - rewrite IHn; [ring | lia].
Qed.
Lemma one_of_sum n i f : (forall j, (j < n)%nat -> 0 <= f j) -> (i < n)%nat -> f i <= sum n f.
Proof. intros H I. rewrite <- (sum_only n i f I). now apply part_of_sum. Qed.

(* All ordered pairs i <> j *)
Definition pairs n (f : nat -> nat -> R) : R := sum n (fun i => sum n (fun j => if (i =? j)%nat then 0 else f i j)).
Lemma pairs_and_squares n f : pairs n f = sum n (fun i => sum n (f i)) - sum n (fun i => f i i).
Proof.
  unfold pairs. rewrite <- sum_sub. apply sum_ext; intros i I.
  rewrite <- (sum_only n i (f i) I), <- sum_sub. apply sum_ext; intros j _. destruct (i =? j)%nat; ring.
Qed.
Lemma pairs_ext n f g :
  (forall i j, (i < n)%nat -> (j < n)%nat -> i <> j -> f i j = g i j) -> pairs n f = pairs n g.
Proof.
  intro H. apply sum_ext; intros i I. apply sum_ext; intros j J.
  destruct (Nat.eqb_spec i j); [reflexivity | auto].
Qed.
Lemma pairs_const n c : pairs n (fun _ _ => c) = INR n * (INR n - 1) * c.
Proof.
  rewrite pairs_and_squares, (sum_ext n _ (fun _ => INR n * c)), !sum_const; [ring |].
  intros; apply sum_const.
Qed.

(* ---- Vectors ---- *)

Record Inner := {
  carrier :> Type;
  zero : carrier;
  add : carrier -> carrier -> carrier;
  scale : R -> carrier -> carrier;
  ip : carrier -> carrier -> R;
  ip_sym : forall x y, ip x y = ip y x;
  ip_zero : forall z, ip zero z = 0;
  ip_add : forall x y z, ip (add x y) z = ip x z + ip y z;
  ip_scale : forall a x z, ip (scale a x) z = a * ip x z;
  ip_pos : forall x, 0 <= ip x x
}.
Arguments zero {_}.
Arguments add {_}.
Arguments scale {_}.
Arguments ip {_}.
Arguments ip_sym {_}.
Arguments ip_zero {_}.
Arguments ip_add {_}.
Arguments ip_scale {_}.
Arguments ip_pos {_}.

Definition sub {V : Inner} (x y : V) : V := add x (scale (-1) y).
Definition sq {V : Inner} (x : V) : R := ip x x.
Fixpoint vsum {V : Inner} (n : nat) (x : nat -> V) : V :=
  match n with
  | O => zero
  | S m => add (vsum m x) (x m)
  end.

(* There are such spaces: the numbers, and functions of finitely many outcomes, with their mean product. *)
Definition numbers : Inner.
Proof.
  refine {| carrier := R; zero := 0; add := Rplus; scale := Rmult; ip := Rmult |}; intros; try ring.
  apply Rle_0_sqr.
Defined.
Definition random (n : nat) (p : nat -> R) (P : forall w, 0 <= p w) (V : Inner) : Inner.
Proof.
  refine {| carrier := nat -> V;
            zero := fun _ => zero;
            add := fun x y w => add (x w) (y w);
            scale := fun a x w => scale a (x w);
            ip := fun x y => sum n (fun w => p w * ip (x w) (y w)) |}; intros.
  - apply sum_ext; intros; now rewrite ip_sym.
  - rewrite (sum_ext n _ (fun _ => 0)); [rewrite sum_const; ring | intros; rewrite ip_zero; ring].
  - rewrite <- sum_add. apply sum_ext; intros; rewrite ip_add; ring.
  - rewrite <- sum_scale. apply sum_ext; intros; rewrite ip_scale; ring.
  - apply sum_least; intros; apply Rmult_le_pos; [apply P | apply ip_pos].
Defined.

Section Vectors.
Context {V : Inner}.
Implicit Types (x y z u v : V) (a : R).

Lemma ip_zero_r z : ip z zero = 0.
Proof. rewrite ip_sym; apply ip_zero. Qed.
Lemma ip_add_r x y z : ip z (add x y) = ip z x + ip z y.
Proof. rewrite ip_sym, ip_add, (ip_sym x), (ip_sym y); reflexivity. Qed.
Lemma ip_scale_r a x z : ip z (scale a x) = a * ip z x.
Proof. rewrite ip_sym, ip_scale, (ip_sym x); reflexivity. Qed.
Lemma ip_sub x y z : ip (sub x y) z = ip x z - ip y z.
Proof. unfold sub. rewrite ip_add, ip_scale; ring. Qed.
Lemma ip_sub_r x y z : ip z (sub x y) = ip z x - ip z y.
Proof. rewrite ip_sym, ip_sub, (ip_sym x), (ip_sym y); reflexivity. Qed.
Lemma ip_vsum n (x : nat -> V) z : ip (vsum n x) z = sum n (fun i => ip (x i) z).
Proof. induction n; simpl; [apply ip_zero |]. rewrite ip_add, IHn; reflexivity. Qed.
Lemma ip_vsum_r n (x : nat -> V) z : ip z (vsum n x) = sum n (fun i => ip z (x i)).
Proof. rewrite ip_sym, ip_vsum. apply sum_ext; intros; apply ip_sym. Qed.
Lemma ip_vsums m n (x y : nat -> V) : ip (vsum m x) (vsum n y) = sum m (fun i => sum n (fun j => ip (x i) (y j))).
Proof. rewrite ip_vsum. apply sum_ext; intros; apply ip_vsum_r. Qed.
End Vectors.

Ltac products := unfold sq; repeat rewrite ?ip_add, ?ip_add_r, ?ip_sub, ?ip_sub_r, ?ip_scale, ?ip_scale_r, ?ip_zero, ?ip_zero_r.
(* the same, also in what is known *)
Ltac products_in H :=
  unfold sq in H;
  repeat rewrite ?ip_add, ?ip_add_r, ?ip_sub, ?ip_sub_r, ?ip_scale, ?ip_scale_r, ?ip_zero, ?ip_zero_r in H.

Section Sums.
Context {V : Inner}.
Implicit Types (x y z u v : V) (a : R).

(* SQUARE *)
Lemma square v : 0 <= sq v.
Proof. apply ip_pos. Qed.
(* YOUNG *)
Lemma young s u v : 0 < s -> 2 * ip u v <= s * sq u + sq v / s.
Proof.
  intro H. pose proof (ip_pos (sub (scale s u) v)) as P. products_in P. rewrite (ip_sym v u) in P.
  apply Rmult_le_reg_l with s; [assumption |]. unfold sq.
  replace (s * (s * ip u u + ip v v / s)) with (s * (s * ip u u) + ip v v) by (field; lra). lra.
Qed.
(* YOUNG, as a bound on a sum *)
Lemma young_sum s u v : 0 < s -> sq (add u v) <= (1 + s) * sq u + (1 + 1 / s) * sq v.
Proof.
  intro H. pose proof (young s u v H) as Y. unfold sq in *. products. rewrite (ip_sym v u).
  replace ((1 + s) * ip u u + (1 + 1 / s) * ip v v) with (ip u u + ip v v + (s * ip u u + ip v v / s)) by (field; lra).
  lra.
Qed.
(* what SILENT, PENALISED_SMOOTH and SMOOTH_DESCENT rest on *)
Lemma cauchy_schwarz u v : ip u v ^ 2 <= sq u * sq v.
Proof.
  assert (P : forall t, 0 <= sq u - 2 * t * ip u v + t * t * sq v).
  { intro t. pose proof (ip_pos (sub u (scale t v))) as P. products_in P. unfold sq. rewrite (ip_sym v u) in P. lra. }
  pose proof (square u) as U. pose proof (square v) as [W | W].
  - specialize (P (ip u v / sq v)).
    replace (sq u - 2 * (ip u v / sq v) * ip u v + ip u v / sq v * (ip u v / sq v) * sq v)
      with ((sq u * sq v - ip u v ^ 2) * / sq v) in P by (field; lra).
    apply Rnot_lt_le; intro N. assert (0 < / sq v) by (now apply Rinv_0_lt_compat).
    assert (0 < (ip u v ^ 2 - sq u * sq v) * / sq v) by (apply Rmult_lt_0_compat; lra). lra.
  - rewrite <- W in *. assert (Z : ip u v = 0).
    { destruct (Req_dec (ip u v) 0) as [E | N]; [exact E | exfalso].
      specialize (P ((sq u + 1) / (2 * ip u v))).
      replace (2 * ((sq u + 1) / (2 * ip u v)) * ip u v) with (sq u + 1) in P by (field; exact N). lra. }
    rewrite Z; lra.
Qed.
(* the same without a square: a bound on each length bounds the product *)
Lemma cauchy_schwarz_bound u v a b : 0 <= a -> 0 <= b -> sq u <= a ^ 2 -> sq v <= b ^ 2 -> ip u v <= a * b.
Proof.
  intros A B U W. apply Rnot_lt_le; intro N. pose proof (cauchy_schwarz u v) as C.
  assert (0 <= a * b) by (now apply Rmult_le_pos).
  assert (sq u * sq v <= a ^ 2 * b ^ 2) by (apply Rmult_le_compat; try assumption; apply square).
  assert ((a * b) ^ 2 < ip u v ^ 2) by (rewrite <- !Rsqr_pow2; apply Rsqr_incrst_1; lra).
  replace ((a * b) ^ 2) with (a ^ 2 * b ^ 2) in * by ring. lra.
Qed.

(* JENSEN and JENSEN_OVER *)
Lemma jensen n (v : nat -> V) : sq (vsum n v) <= INR n * sum n (fun i => sq (v i)).
Proof.
  induction n; [simpl; products; lra |].
  simpl vsum; rewrite sum_next, S_INR. destruct n as [| n].
  - simpl. products. lra.
  - assert (P : 0 < INR (S n)) by (apply lt_0_INR; lia).
    pose proof (young_sum (1 / INR (S n)) (vsum (S n) v) (v (S n))) as Y.
    replace (1 + 1 / (1 / INR (S n))) with (INR (S n) + 1) in Y by (field; lra).
    assert (Q : 0 < 1 / INR (S n)) by (apply Rdiv_lt_0_compat; lra). specialize (Y Q).
    assert ((1 + 1 / INR (S n)) * sq (vsum (S n) v) <= (1 + 1 / INR (S n)) * (INR (S n) * sum (S n) (fun i => sq (v i))))
      by (apply Rmult_le_compat_l; lra).
    replace ((1 + 1 / INR (S n)) * (INR (S n) * sum (S n) (fun i => sq (v i))))
      with ((INR (S n) + 1) * sum (S n) (fun i => sq (v i))) in * by (field; lra).
    lra.
Qed.
(* JENSEN_OVER, for a family with weights *)
Lemma jensen_weighted n w (v : nat -> V) :
  (forall i, (i < n)%nat -> 0 <= w i) ->
  sq (vsum n (fun i => scale (w i) (v i))) <= sum n w * sum n (fun i => w i * sq (v i)).
Proof.
  intro W. assert (P : 0 <= sum n (fun i => sum n (fun j => w i * w j * sq (sub (v i) (v j))))).
  { apply sum_least; intros i I. apply sum_least; intros j J.
    apply Rmult_le_pos; [apply Rmult_le_pos; auto | apply square]. }
  assert (E : sum n (fun i => sum n (fun j => w i * w j * sq (sub (v i) (v j))))
    = 2 * (sum n w * sum n (fun i => w i * sq (v i))) - 2 * sq (vsum n (fun i => scale (w i) (v i)))).
  { unfold sq at 3. rewrite ip_vsums.
    rewrite (sum_ext n _ (fun i =>
      sum n w * (w i * sq (v i)) + w i * sum n (fun j => w j * sq (v j))
      - 2 * sum n (fun j => ip (scale (w i) (v i)) (scale (w j) (v j))))).
    - rewrite sum_sub, sum_add, !sum_scale.
      rewrite (sum_ext n (fun i => w i * sum n (fun j => w j * sq (v j)))
        (fun i => sum n (fun j => w j * sq (v j)) * w i)) by (intros; ring).
      rewrite sum_scale. ring.
    - intros i I. rewrite (sum_ext n _ (fun j =>
        (w i * sq (v i)) * w j + w i * (w j * sq (v j)) - 2 * ip (scale (w i) (v i)) (scale (w j) (v j)))).
      + rewrite sum_sub, sum_add, !sum_scale. ring.
      + intros j J. products. rewrite (ip_sym (v j) (v i)). ring. }
  lra.
Qed.
(* PART *)
Lemma part n keep (v : nat -> V) :
  sum n (fun i => if keep i : bool then sq (v i) else 0) <= sum n (fun i => sq (v i)).
Proof. apply part_of_sum; intros; apply square. Qed.
Lemma one_square n i (v : nat -> V) : (i < n)%nat -> sq (v i) <= sum n (fun j => sq (v j)).
Proof. apply (one_of_sum n i (fun j => sq (v j))); intros; apply square. Qed.
(* JENSEN_PART *)
Lemma jensen_part n (keep : nat -> bool) (v : nat -> V) :
  sq (vsum n (fun i => if keep i then v i else zero)) <= INR n * sum n (fun i => sq (v i)).
Proof.
  eapply Rle_trans; [apply jensen |]. apply Rmult_le_compat_l; [apply pos_INR |].
  apply sum_le; intros i I. destruct (keep i); [lra | products; apply square].
Qed.
(* TELESCOPED *)
Lemma telescoped n (x : nat -> V) z : ip (vsum n (fun t => sub (x (S t)) (x t))) z = ip (sub (x n) (x O)) z.
Proof.
  rewrite ip_vsum, ip_sub, <- (telescoping n (fun t => ip (x t) z)). apply sum_ext; intros; apply ip_sub.
Qed.

(* SECOND_MOMENT: the mean of squares is the square of the mean and the variance *)
Lemma second_moment n (v : nat -> V) m :
  (forall z, ip (vsum n v) z = INR n * ip m z) ->
  sum n (fun i => sq (sub (v i) m)) = sum n (fun i => sq (v i)) - INR n * sq m.
Proof.
  intro M. rewrite (sum_ext n _ (fun i => sq (v i) - 2 * ip (v i) m + sq m)).
  - rewrite sum_add, sum_sub, sum_const, sum_scale, <- ip_vsum, M. unfold sq. ring.
  - intros. products. rewrite (ip_sym m). ring.
Qed.

(* ---- Sums of random vectors: E<v_i, v_j> is a product, too ---- *)

Lemma square_of_sum n (v : nat -> V) :
  sq (vsum n v) = sum n (fun i => sq (v i)) + pairs n (fun i j => ip (v i) (v j)).
Proof. unfold sq at 1. rewrite ip_vsums, pairs_and_squares. unfold sq. ring. Qed.
(* INDEPENDENT, CLIENTS_APART, COMPRESSED_APART: no two of them are correlated *)
Lemma independent n (v : nat -> V) :
  (forall i j, (i < n)%nat -> (j < n)%nat -> i <> j -> ip (v i) (v j) = 0) ->
  sq (vsum n v) = sum n (fun i => sq (v i)).
Proof. intro H. rewrite square_of_sum, (pairs_ext n _ (fun _ _ => 0) H), pairs_const. ring. Qed.
(* INDEPENDENT_WEIGHTED, INDEPENDENT_BINARISATION *)
Lemma independent_weighted n p (v : nat -> V) :
  (forall i j, (i < n)%nat -> (j < n)%nat -> i <> j -> ip (v i) (v j) = 0) ->
  sq (vsum n (fun i => scale (p i) (v i))) = sum n (fun i => p i ^ 2 * sq (v i)).
Proof.
  intro H. rewrite independent.
  - apply sum_ext; intros; products; ring.
  - intros. products. rewrite H by assumption. ring.
Qed.
(* SUCCESSIVE: each has mean zero given those before it *)
Lemma successive n (v : nat -> V) :
  (forall i, (i < n)%nat -> ip (v i) (vsum i v) = 0) -> sq (vsum n v) = sum n (fun i => sq (v i)).
Proof.
  induction n; intro H; simpl; products; [reflexivity |].
  rewrite (ip_sym (vsum n v) (v n)), H by lia. unfold sq in IHn. rewrite IHn by (intros; apply H; lia). ring.
Qed.
(* INDEPENDENT_WEIGHTED, one after another *)
Lemma successive_weighted n p (v : nat -> V) :
  (forall i j, (j < i < n)%nat -> ip (v i) (v j) = 0) ->
  sq (vsum n (fun i => scale (p i) (v i))) = sum n (fun i => p i ^ 2 * sq (v i)).
Proof.
  intro H. apply independent_weighted. intros i j I J N.
  destruct (Nat.lt_gt_cases i j) as [L _]. destruct (L N); [rewrite ip_sym |]; apply H; lia.
Qed.
(* NOISE_APART *)
Lemma noise_apart n (a e : nat -> V) :
  (forall i j, (i < n)%nat -> (j < n)%nat -> i <> j -> ip (a i) (e j) = 0) ->
  ip (vsum n a) (vsum n e) = sum n (fun i => ip (a i) (e i)).
Proof.
  intro H. pose proof (pairs_and_squares n (fun i j => ip (a i) (e j))) as P.
  rewrite (pairs_ext n _ (fun _ _ => 0) H), pairs_const in P. rewrite ip_vsums. lra.
Qed.
(* VARIANCE and SUCCESSIVE together *)
Lemma successive_bounded n (v : nat -> V) s :
  (forall i, (i < n)%nat -> ip (v i) (vsum i v) = 0) -> (forall i, (i < n)%nat -> sq (v i) <= s) ->
  sq (vsum n v) <= INR n * s.
Proof. intros H B. rewrite (successive n v H), <- sum_const. now apply sum_le. Qed.
(* SILENT *)
Lemma silent u v : sq u <= 0 -> ip u v = 0.
Proof.
  intro H. pose proof (cauchy_schwarz u v) as C. pose proof (square u).
  replace (sq u) with 0 in C by lra. replace (0 * sq v) with 0 in C by ring.
  destruct (Req_dec (ip u v) 0) as [E | N]; [exact E | exfalso].
  apply Rsqr_pos_lt in N. unfold Rsqr in N. lra.
Qed.

(* ---- Steps one after another ---- *)

(* IN_ORDER *)
Lemma in_order n (a b : nat -> V) :
  ip (vsum n a) (vsum n b)
  = sum n (fun t => ip (a t) (b t)) + sum n (fun t => ip (a t) (vsum t b)) + sum n (fun t => ip (b t) (vsum t a)).
Proof. induction n; simpl; products; [ring |]. rewrite IHn, (ip_sym (vsum n a) (b n)). ring. Qed.
(* SUMS_BEFORE *)
Lemma sums_before n (v : nat -> V) :
  sum n (fun t => sq (vsum t v)) <= INR n * (INR n - 1) / 2 * sum n (fun t => sq (v t)).
Proof.
  induction n; [simpl; lra |]. rewrite !sum_next, S_INR. pose proof (jensen n v) as J.
  pose proof (pos_INR n). assert (0 <= INR n * (INR n + 1) / 2 * sq (v n)).
  { apply Rmult_le_pos; [| apply square]. unfold Rdiv. repeat apply Rmult_le_pos; lra. }
  nra.
Qed.
(* NOISE_BEFORE *)
Lemma noise_before n (v : nat -> V) s :
  (forall i, (i < n)%nat -> ip (v i) (vsum i v) = 0) -> (forall i, (i < n)%nat -> sq (v i) <= s) ->
  sum n (fun t => sq (vsum t v)) <= INR n * (INR n - 1) / 2 * s.
Proof.
  intros H B. rewrite <- sum_of_counts, Rmult_comm, <- sum_scale.
  apply sum_le; intros t T. rewrite Rmult_comm. apply successive_bounded; intros; [apply H | apply B]; lia.
Qed.
(* COPIES *)
Lemma copies n (a b : V) : sum n (fun k => ip a (scale (INR k) b)) = INR n * (INR n - 1) / 2 * ip a b.
Proof.
  rewrite <- sum_of_counts, (Rmult_comm _ (ip a b)), <- (sum_scale n _ INR). apply sum_ext; intros; products; ring.
Qed.
(* COPIES_SQUARED *)
Lemma copies_squared n (b : V) :
  sum n (fun k => sq (scale (INR k) b)) = INR n * (INR n - 1) * (2 * INR n - 1) / 6 * sq b.
Proof.
  rewrite <- sum_of_squares, (Rmult_comm _ (sq b)), <- (sum_scale n _ (fun k => INR k ^ 2)). apply sum_ext; intros; products; ring.
Qed.
End Sums.

(* ---- Samples: y_p, a random vector, is the p-th client that is drawn, and W the space of the clients' own vectors ---- *)

Section Samples.
Context {V W : Inner}.

(* second moments a of each draw, and b of any two *)
Lemma exchangeable_sum n (y : nat -> V) a b :
  (forall p, (p < n)%nat -> sq (y p) = a) ->
  (forall p q, (p < n)%nat -> (q < n)%nat -> p <> q -> ip (y p) (y q) = b) ->
  sq (vsum n y) = INR n * a + INR n * (INR n - 1) * b.
Proof.
  intros A B. rewrite square_of_sum, (sum_ext n _ (fun _ => a) A), (pairs_ext n _ (fun _ _ => b) B), sum_const, pairs_const.
  reflexivity.
Qed.
(* ... and their mean *)
Lemma exchangeable_mean n (y : nat -> V) a b :
  (0 < n)%nat ->
  (forall p, (p < n)%nat -> sq (y p) = a) ->
  (forall p q, (p < n)%nat -> (q < n)%nat -> p <> q -> ip (y p) (y q) = b) ->
  sq (scale (/ INR n) (vsum n y)) = (a + (INR n - 1) * b) / INR n.
Proof.
  intros N A B. apply lt_0_INR in N. products. fold (sq (vsum n y)). rewrite (exchangeable_sum n y a b A B). field. lra.
Qed.
(* WITH_REPLACEMENT *)
Lemma with_replacement n (y : nat -> V) v :
  (forall p, (p < n)%nat -> sq (y p) = v) ->
  (forall p q, (p < n)%nat -> (q < n)%nat -> p <> q -> ip (y p) (y q) = 0) ->
  sq (vsum n y) = INR n * v.
Proof. intros A B. rewrite (exchangeable_sum n y v 0 A B). ring. Qed.

(* the deviations of all clients sum to zero, so two of them have a mean product <= 0 *)
Lemma all_pairs m (d : nat -> W) :
  (forall z, ip (vsum m d) z = 0) -> pairs m (fun i j => ip (d i) (d j)) = - sum m (fun i => sq (d i)).
Proof. intro Z. pose proof (square_of_sum m d) as B. unfold sq at 1 in B. rewrite Z in B. lra. Qed.
(* PAIR_OF_SAMPLE: the mean over all ordered pairs *)
Lemma pair_of_sample m (d : nat -> W) :
  (1 < m)%nat -> (forall z, ip (vsum m d) z = 0) ->
  / (INR m * (INR m - 1)) * pairs m (fun i j => ip (d i) (d j))
  = - (/ (INR m - 1) * (/ INR m * sum m (fun i => sq (d i)))).
Proof.
  intros M Z. apply lt_INR in M. simpl in M. rewrite (all_pairs m d Z). field. lra.
Qed.
Lemma deviations_sum_to_zero m (x : nat -> W) mean :
  (forall z, ip (vsum m x) z = INR m * ip mean z) -> forall z, ip (vsum m (fun i => sub (x i) mean)) z = 0.
Proof.
  intros E z. rewrite ip_vsum, (sum_ext m _ (fun i => ip (x i) z - ip mean z)) by (intros; apply ip_sub).
  rewrite sum_sub, sum_const, <- ip_vsum, E. ring.
Qed.
(* WITHOUT_REPLACEMENT, CLIENTS_WITHOUT_REPLACEMENT *)
Lemma without_replacement s m (y : nat -> V) v :
  (1 < m)%nat ->
  (forall p, (p < s)%nat -> sq (y p) = v) ->
  (forall p q, (p < s)%nat -> (q < s)%nat -> p <> q -> ip (y p) (y q) = - (v / (INR m - 1))) ->
  sq (vsum s y) = INR s * (INR m - INR s) / (INR m - 1) * v.
Proof. intros M A B. apply lt_INR in M. simpl in M. rewrite (exchangeable_sum s y _ _ A B). field. lra. Qed.
(* SAMPLE_OF: a draw is any client, and two draws any two *)
Lemma sample_of s m (y : nat -> V) (d : nat -> W) :
  (1 < m)%nat ->
  (forall z, ip (vsum m d) z = 0) ->
  (forall p, (p < s)%nat -> sq (y p) = / INR m * sum m (fun i => sq (d i))) ->
  (forall p q, (p < s)%nat -> (q < s)%nat -> p <> q ->
    ip (y p) (y q) = / (INR m * (INR m - 1)) * pairs m (fun i j => ip (d i) (d j))) ->
  sq (vsum s y) = INR s * (INR m - INR s) / (INR m - 1) * (sum m (fun i => sq (d i)) / INR m).
Proof.
  intros M Z A B. unfold Rdiv at 2. rewrite (Rmult_comm (sum m _)). apply (without_replacement s m y _ M A).
  intros p q P Q N. rewrite (B p q P Q N), (pair_of_sample m d M Z). unfold Rdiv. ring.
Qed.
(* ... and for the mean of the sample *)
Lemma mean_of_sample_of s m (y : nat -> V) (d : nat -> W) :
  (0 < s)%nat -> (1 < m)%nat ->
  (forall z, ip (vsum m d) z = 0) ->
  (forall p, (p < s)%nat -> sq (y p) = / INR m * sum m (fun i => sq (d i))) ->
  (forall p q, (p < s)%nat -> (q < s)%nat -> p <> q ->
    ip (y p) (y q) = / (INR m * (INR m - 1)) * pairs m (fun i j => ip (d i) (d j))) ->
  sq (scale (/ INR s) (vsum s y)) = (INR m - INR s) / (INR s * (INR m - 1)) * (sum m (fun i => sq (d i)) / INR m).
Proof.
  intros P M Z A B. pose proof (sample_of s m y d M Z A B) as E. apply lt_0_INR in P. apply lt_INR in M. simpl in M.
  unfold sq at 1. rewrite ip_scale, ip_scale_r. fold (sq (vsum s y)). rewrite E. field. lra.
Qed.
(* EXCHANGEABLE, APART: each client is drawn with the same chance, and k of the m are drawn, so that chance is k/m *)
Lemma apart k m chance (h : nat -> R) :
  (0 < m)%nat -> (forall i, (i < m)%nat -> chance i = chance O) -> sum m chance = k ->
  sum m (fun i => chance i * h i) = k / INR m * sum m h.
Proof.
  intros M A K. apply lt_0_INR in M. rewrite (sum_ext m chance (fun _ => chance O) A), sum_const in K.
  rewrite (sum_ext m _ (fun i => chance O * h i)) by (intros; now rewrite A).
  rewrite sum_scale, <- K. field. lra.
Qed.
(* BLOCK_VARIANCE: two clients are drawn together with the same chance, and a sample of k has k (k - 1) pairs *)
Lemma block_variance k m one two (v : nat -> W) :
  (1 < m)%nat -> INR m * one = k -> INR m * (INR m - 1) * two = k * (k - 1) ->
  sum m (fun i => one * sq (v i)) + pairs m (fun i j => two * ip (v i) (v j))
  = k * (k - 1) / (INR m * (INR m - 1)) * sq (vsum m v)
    + k * (INR m - k) / (INR m * (INR m - 1)) * sum m (fun i => sq (v i)).
Proof.
  intros M A B. apply lt_INR in M. simpl in M.
  replace one with (k / INR m) by (rewrite <- A; field; lra).
  replace two with (k * (k - 1) / (INR m * (INR m - 1))) by (rewrite <- B; field; lra).
  rewrite sum_scale, pairs_and_squares. unfold sq at 2. rewrite ip_vsums. unfold sq.
  rewrite (sum_ext m (fun i => sum m _)
    (fun i => k * (k - 1) / (INR m * (INR m - 1)) * sum m (fun j => ip (v i) (v j)))) by (intros; apply sum_scale).
  rewrite (sum_scale m _ (fun i => sum m (fun j => ip (v i) (v j)))),
    (sum_scale m (k * (k - 1) / (INR m * (INR m - 1))) (fun i => ip (v i) (v i))).
  field. lra.
Qed.
(* PAIRS_IN_ORDER *)
Lemma pairs_in_order s k (a b : nat -> V) apart same :
  (forall p, (p < s)%nat -> ip (a p) (b p) = same) ->
  (forall p q, (p < s)%nat -> (q < s)%nat -> p <> q -> ip (a p) (b q) = apart) ->
  sum s (fun p => sum k (fun i => ip (a p) (add (scale (INR k) (vsum p b)) (scale (INR i) (b p)))))
  = INR k ^ 2 * ip (vsum s a) (vsum s b) / 2 - INR k * sum s (fun p => ip (a p) (b p)) / 2.
Proof.
  intros A B. rewrite ip_vsums, <- (Rplus_0_r (sum s (fun i => sum s _))).
  rewrite <- (Rplus_opp_r (sum s (fun p => ip (a p) (b p)))), <- Rplus_assoc, Rplus_comm, <- Rplus_assoc.
  rewrite (Rplus_comm (- _)). fold (sum s (fun i => sum s (fun j => ip (a i) (b j))) - sum s (fun p => ip (a p) (b p))).
  rewrite <- (pairs_and_squares s (fun i j => ip (a i) (b j))), (pairs_ext s _ (fun _ _ => apart) B), pairs_const.
  rewrite (sum_ext s (fun p => ip (a p) (b p)) (fun _ => same) A), sum_const.
  rewrite (sum_ext s _ (fun p => INR k ^ 2 * apart * INR p + INR k * (INR k - 1) / 2 * same)).
  - rewrite sum_add, (sum_scale s _ INR), sum_const, sum_of_counts. field.
  - intros p P. rewrite (sum_ext k _ (fun i => INR k * (INR p * apart) + same * INR i)).
    + rewrite sum_add, sum_const, (sum_scale k _ INR), sum_of_counts. field.
    + intros i _. products. rewrite A, ip_vsum_r, (sum_ext p _ (fun _ => apart)), sum_const; [ring | | assumption].
      intros; apply B; lia.
Qed.
(* PARTIAL_SUMS *)
Lemma partial_sums s k (b : nat -> V) each two :
  (forall p, (p < s)%nat -> sq (b p) = each) ->
  (forall p q, (p < s)%nat -> (q < s)%nat -> p <> q -> ip (b p) (b q) = two) ->
  sum s (fun p => sum k (fun i => sq (add (scale (INR k) (vsum p b)) (scale (INR i) (b p)))))
  = INR k * (INR s * INR k ^ 2 + 1) / 6 * sum s (fun p => sq (b p))
    + INR k ^ 2 * (2 * INR k * INR s - INR k - 3) / 6 * sq (vsum s b).
Proof.
  intros A B. rewrite (exchangeable_sum s b each two A B), (sum_ext s (fun p => sq (b p)) (fun _ => each) A), sum_const.
  rewrite (sum_ext s _ (fun p =>
    INR k * (INR k - 1) * (2 * INR k - 1) / 6 * each
    + (INR k ^ 3 * (each - two) + 2 * INR k * (INR k * (INR k - 1) / 2) * two) * INR p + INR k ^ 3 * two * INR p ^ 2)).
  - rewrite sum_of_powers. field.
  - intros p P. rewrite (sum_ext k _ (fun i =>
      INR k ^ 2 * (INR p * each + INR p * (INR p - 1) * two) + 2 * INR k * INR p * two * INR i + each * INR i ^ 2)).
    + rewrite sum_of_powers. field.
    + intros i _. rewrite <- (exchangeable_sum p b each two) by (intros; try apply A; try apply B; lia).
      rewrite <- (A p P). unfold sq. products.
      rewrite (ip_sym (b p) (vsum p b)), !ip_vsum, (sum_ext p (fun j => ip (b j) (b p)) (fun _ => two)), sum_const; [ring |].
      intros; apply B; lia.
Qed.
End Samples.

(* ---- Functions: f x is a value, g x the gradient ---- *)

Section Functions.
Context {V : Inner}.
Variables (f : V -> R) (g : V -> V).
Implicit Types (x y z u v : V).

(* the meaning of DESCENT, TANGENT, CONVEX, LIPSCHITZ, BELOW *)
Definition smooth_above L := forall x y, f y <= f x + ip (g x) (sub y x) + L / 2 * sq (sub y x).
Definition tangent mu := forall x y, f y >= f x + ip (g x) (sub y x) + mu / 2 * sq (sub y x).
Definition lipschitz L := forall x y, sq (sub (g y) (g x)) <= L ^ 2 * sq (sub y x).
Definition below lowest := forall x, lowest <= f x.

(* what a step against a direction gains *)
Lemma step_gains L c x v :
  smooth_above L -> f (sub x (scale c v)) <= f x - c * ip (g x) v + L / 2 * (c ^ 2 * sq v).
Proof.
  intro H. specialize (H x (sub x (scale c v))). products_in H. unfold sq. rewrite (ip_sym v x) in H. lra.
Qed.
(* COCOERCIVE *)
Lemma cocoercive L x y :
  0 < L -> smooth_above L -> tangent 0 -> f y >= f x + ip (g x) (sub y x) + sq (sub (g y) (g x)) / (2 * L).
Proof.
  intros P H T. pose proof (step_gains L (/ L) y (sub (g y) (g x)) H) as D.
  specialize (T x (sub y (scale (/ L) (sub (g y) (g x))))). unfold sq in *. products_in D. products_in T. products.
  rewrite (ip_sym (g x) (g y)) in *.
  set (a := ip (g y) (g y)) in *; set (b := ip (g y) (g x)) in *; set (c := ip (g x) (g x)) in *.
  replace (L / 2 * ((/ L) ^ 2 * (a - b - (b - c)))) with ((a - b - (b - c)) / (2 * L)) in D by (field; lra).
  replace (/ L * (a - b)) with (2 * ((a - b) / (2 * L))) in D by (field; lra).
  replace (/ L * (b - c)) with (2 * ((b - c) / (2 * L))) in T by (field; lra).
  replace ((a - b - (b - c)) / (2 * L)) with ((a - b) / (2 * L) - (b - c) / (2 * L)) in * by (field; lra).
  lra.
Qed.
(* COCOERCIVE_PAIR *)
Lemma cocoercive_pair L x y :
  0 < L -> smooth_above L -> tangent 0 -> ip (sub (g y) (g x)) (sub y x) >= sq (sub (g y) (g x)) / L.
Proof.
  intros P H T. pose proof (cocoercive L x y P H T) as A. pose proof (cocoercive L y x P H T) as B.
  unfold sq in *. products_in A. products_in B. products. rewrite (ip_sym (g x) (g y)) in *.
  set (a := ip (g y) (g y)) in *; set (b := ip (g y) (g x)) in *; set (c := ip (g x) (g x)) in *.
  replace ((a - b - (b - c)) / L) with (2 * ((a - b - (b - c)) / (2 * L))) by (field; lra).
  replace ((c - b - (b - a)) / (2 * L)) with ((a - b - (b - c)) / (2 * L)) in B by (field; lra). lra.
Qed.
(* MONOTONE *)
Lemma monotone mu x y : tangent mu -> ip (sub (g y) (g x)) (sub y x) >= mu * sq (sub y x).
Proof.
  intro T. pose proof (T x y) as A. pose proof (T y x) as B. products_in A. products_in B. products.
  rewrite (ip_sym x y) in *. lra.
Qed.
(* PERTURBED *)
Lemma perturbed mu L x y z :
  0 <= mu -> smooth_above L -> tangent mu ->
  ip (g x) (sub z y) >= f z - f y + mu / 4 * sq (sub y z) - L * sq (sub z x).
Proof.
  intros P H T. pose proof (H x z) as D. pose proof (T x y) as A. pose proof (T x z) as B.
  pose proof (square (add (sub y (scale 2 x)) z)) as Q. apply (Rmult_le_compat_l (mu / 4)) in Q; [| lra].
  products_in D. products_in A. products_in B. products_in Q. products.
  rewrite (ip_sym x y), (ip_sym z y), (ip_sym z x) in *. lra.
Qed.
(* SMALL_GRADIENT, GRADIENT_AND_GAP *)
Lemma small_gradient L lowest x :
  0 < L -> smooth_above L -> below lowest -> sq (g x) <= 2 * L * (f x - lowest).
Proof.
  intros P H B. pose proof (step_gains L (/ L) x (g x) H) as D. specialize (B (sub x (scale (/ L) (g x)))).
  fold (sq (g x)) in D.
  replace (f x - / L * sq (g x) + L / 2 * ((/ L) ^ 2 * sq (g x))) with (f x - sq (g x) * / (2 * L)) in D by (field; lra).
  replace (sq (g x)) with (2 * L * (sq (g x) * / (2 * L))) by (field; lra). apply Rmult_le_compat_l; lra.
Qed.
(* STRONGLY_POLYAK, at every point, so also for an infimum *)
Lemma strongly_polyak mu x y : 0 < mu -> tangent mu -> sq (g x) >= 2 * mu * (f x - f y).
Proof.
  intros P T. specialize (T x y). pose proof (square (add (g x) (scale mu (sub y x)))) as Q.
  unfold sq in *. products_in T. products_in Q.
  rewrite (ip_sym x (g x)), (ip_sym y (g x)), (ip_sym x y) in *. nra.
Qed.
(* STRONGLY_POLYAK, POLYAK, for the infimum *)
Lemma strongly_polyak_infimum mu x lowest :
  0 < mu -> tangent mu -> (forall e, 0 < e -> exists y, f y < lowest + e) -> sq (g x) >= 2 * mu * (f x - lowest).
Proof.
  intros P T I. apply Rnot_lt_ge; intro N. destruct (I ((2 * mu * (f x - lowest) - sq (g x)) / (2 * mu))) as [y Y].
  - apply Rdiv_lt_0_compat; lra.
  - pose proof (strongly_polyak mu x y P T) as B.
    apply (Rmult_lt_compat_l (2 * mu)) in Y; [| lra].
    replace (2 * mu * (lowest + (2 * mu * (f x - lowest) - sq (g x)) / (2 * mu)))
      with (2 * mu * f x - sq (g x)) in Y by (field; lra).
    lra.
Qed.
(* STATIONARY: where a smooth function is smallest, its gradient is zero *)
Lemma stationary L x v : 0 < L -> smooth_above L -> below (f x) -> ip (g x) v = 0.
Proof. intros P H B. apply silent. pose proof (small_gradient L (f x) x P H B). lra. Qed.
(* Jensen for the weighted average of the iterates *)
Lemma jensen_of_function n w (x : nat -> V) m :
  (forall i, (i < n)%nat -> 0 <= w i) -> sum n w = 1 -> tangent 0 ->
  (forall z, ip (vsum n (fun i => scale (w i) (x i))) z = ip m z) ->
  f m <= sum n (fun i => w i * f (x i)).
Proof.
  intros P W T M. assert (Z : sum n (fun i => w i * ip (g m) (sub (x i) m)) = 0).
  { rewrite (sum_ext n _ (fun i => ip (scale (w i) (x i)) (g m) - ip m (g m) * w i)).
    - rewrite sum_sub, <- ip_vsum, M, sum_scale, W. ring.
    - intros. products. rewrite (ip_sym (g m) (x i)), (ip_sym (g m) m). ring. }
  replace (f m) with (sum n (fun i => w i * (f m + ip (g m) (sub (x i) m)))).
  - apply sum_le; intros i I. apply Rmult_le_compat_l; [auto |]. specialize (T m (x i)). lra.
  - rewrite (sum_ext n _ (fun i => f m * w i + w i * ip (g m) (sub (x i) m))) by (intros; ring).
    rewrite sum_add, Z, sum_scale, W. ring.
Qed.
(* PENALISED_SMOOTH *)
Lemma penalised_smooth L phi x y :
  0 <= L -> 0 < phi -> lipschitz L ->
  sq (add (sub (g y) (g x)) (scale phi (sub y x))) <= (L + phi) ^ 2 * sq (sub y x).
Proof.
  intros L0 P H. specialize (H x y). set (u := sub (g y) (g x)) in *; set (d := sub y x) in *.
  assert (C : ip u d <= L * sq d).
  { pose proof (square d). pose proof (sqrt_sqrt (sq d) H0) as E.
    replace (L * sq d) with (L * sqrt (sq d) * sqrt (sq d)) by (rewrite <- E at 3; ring).
    apply cauchy_schwarz_bound; try apply Rmult_le_pos; try apply sqrt_pos; try assumption.
    - replace ((L * sqrt (sq d)) ^ 2) with (L ^ 2 * (sqrt (sq d) * sqrt (sq d))) by ring. now rewrite E.
    - simpl. rewrite Rmult_1_r, E. lra. }
  unfold sq in *. products. rewrite (ip_sym d u). apply (Rmult_le_compat_l (2 * phi)) in C; lra.
Qed.
(* SMOOTH_DESCENT: along the way from x to y, the gradient is the slope *)
Lemma smooth_descent L x y :
  0 <= L -> lipschitz L ->
  (forall t, derivable_pt_lim (fun s => f (add x (scale s (sub y x)))) t (ip (g (add x (scale t (sub y x)))) (sub y x))) ->
  f (add x (scale 0 (sub y x))) = f x -> f (add x (scale 1 (sub y x))) = f y ->
  f y <= f x + ip (g x) (sub y x) + L / 2 * sq (sub y x).
Proof.
  intros L0 H D E0 E1. set (d := sub y x) in *. set (at_ := fun t => add x (scale t d)).
  set (h := fun t => f (at_ t) - t * ip (g x) d - t ^ 2 * (L / 2 * sq d)).
  set (h' := fun t => ip (g (at_ t)) d - 1 * ip (g x) d - 2 * t * (L / 2 * sq d)).
  assert (Dh : forall t, derivable_pt_lim h t (h' t)).
  { intro t. unfold h, h'.
    apply (derivable_pt_lim_minus (fun t => f (at_ t) - t * ip (g x) d) (fun t => t ^ 2 * (L / 2 * sq d))).
    - apply (derivable_pt_lim_minus (fun t => f (at_ t)) (fun t => t * ip (g x) d)); [apply D |].
      replace (1 * ip (g x) d) with (1 * ip (g x) d + id t * 0) by (unfold id; ring).
      apply (derivable_pt_lim_mult id (fct_cte (ip (g x) d))); [apply derivable_pt_lim_id | apply derivable_pt_lim_const].
    - replace (2 * t * (L / 2 * sq d)) with (INR 2 * t ^ pred 2 * (L / 2 * sq d) + t ^ 2 * 0) by (simpl; ring).
      apply (derivable_pt_lim_mult (fun t => t ^ 2) (fct_cte (L / 2 * sq d)));
        [apply derivable_pt_lim_pow | apply derivable_pt_lim_const]. }
  destruct (MVT_cor2 h h' 0 1 Rlt_0_1 (fun c _ => Dh c)) as [c [E [C0 C1]]].
  assert (N : h' c <= 0).
  { unfold h'. enough (ip (sub (g (at_ c)) (g x)) d <= L * c * sq d) as B by (products_in B; unfold sq; lra).
    pose proof (square d) as Q. pose proof (sqrt_sqrt (sq d) Q) as R.
    replace (L * c * sq d) with (L * c * sqrt (sq d) * sqrt (sq d)) by (rewrite <- R at 3; ring).
    apply cauchy_schwarz_bound; try apply sqrt_pos.
    - repeat apply Rmult_le_pos; try apply sqrt_pos; lra.
    - replace ((L * c * sqrt (sq d)) ^ 2) with (L ^ 2 * (c * c * (sqrt (sq d) * sqrt (sq d)))) by ring. rewrite R.
      eapply Rle_trans; [apply H |]. apply Rmult_le_compat_l; [apply pow2_ge_0 |].
      unfold at_. products. apply Req_le. ring.
    - simpl. rewrite Rmult_1_r, R. lra. }
  unfold h in E. unfold at_ in E. rewrite E0, E1 in E. lra.
Qed.
End Functions.

(* PENALISED_POLYAK: with the penalty, a convex function is strongly convex *)
Lemma penalised_tangent {V : Inner} (f : V -> R) (g : V -> V) phi :
  tangent f g 0 -> tangent (fun x => f x + phi / 2 * sq x) (fun x => add (g x) (scale phi x)) phi.
Proof.
  intros T x y. specialize (T x y). unfold sq in *. products_in T. products.
  rewrite (ip_sym x y) in *. lra.
Qed.
(* PENALISED_POLYAK, its inequality *)
Lemma penalised_polyak {V : Inner} (f : V -> R) (g : V -> V) phi x y :
  0 < phi -> tangent f g 0 ->
  sq (add (g x) (scale phi x)) >= 2 * phi * (f x + phi / 2 * sq x - (f y + phi / 2 * sq y)).
Proof. intros P T. exact (strongly_polyak _ _ phi x y P (penalised_tangent f g phi T)). Qed.
(* DESCENT_OF_MEAN: the clients' inequalities added up *)
Lemma descent_of_mean {V : Inner} n p (f : nat -> V -> R) (g : nat -> V -> V) L :
  (forall i, (i < n)%nat -> 0 <= p i) -> sum n p = 1 -> (forall i, (i < n)%nat -> smooth_above (f i) (g i) L) ->
  smooth_above (fun x => sum n (fun i => p i * f i x)) (fun x => vsum n (fun i => scale (p i) (g i x))) L.
Proof.
  intros P W H x y. rewrite ip_vsum, <- sum_add.
  replace (L / 2 * sq (sub y x)) with (sum n (fun i => L / 2 * sq (sub y x) * p i)) by (rewrite sum_scale, W; ring).
  rewrite <- sum_add. apply sum_le; intros i I. rewrite ip_scale. specialize (H i I x y).
  apply (Rmult_le_compat_l (p i)) in H; [lra | auto].
Qed.
(* BOUNDED_STEP *)
Lemma bounded_step {V : Inner} (g : V) eta rate G :
  0 <= eta -> eta <= rate -> sq g <= G ^ 2 -> sq (scale eta g) <= rate ^ 2 * G ^ 2.
Proof.
  intros A B H. unfold sq. rewrite ip_scale, ip_scale_r, <- Rmult_assoc. fold (sq g).
  apply Rmult_le_compat; [apply Rmult_le_pos; lra | apply square | | exact H].
  simpl. rewrite Rmult_1_r. apply Rmult_le_compat; lra.
Qed.
(* RENEWED: only the sampled members change *)
Lemma renewed n (drawn : nat -> bool) (old new : nat -> R) :
  sum n (fun i => if drawn i then new i else old i) - sum n old
  = sum n (fun i => if drawn i then new i - old i else 0).
Proof. rewrite <- sum_sub. apply sum_ext; intros. destruct (drawn i); ring. Qed.
(* CONTROLLED: what is the mean of the clients' at the start, and moves as they do, stays their mean *)
Lemma controlled {V : Inner} n (c : nat -> V) (own change : nat -> nat -> V) z :
  (0 < n)%nat ->
  ip (c O) z = ip (vsum n (own O)) z / INR n ->
  (forall t i, (i < n)%nat -> ip (own (S t) i) z = ip (own t i) z + ip (change t i) z) ->
  (forall t, ip (c (S t)) z = ip (c t) z + ip (vsum n (change t)) z / INR n) ->
  forall t, ip (c t) z = ip (vsum n (own t)) z / INR n.
Proof.
  intros N Z O C t. apply lt_0_INR in N. induction t; [exact Z |]. rewrite C, IHt.
  rewrite !ip_vsum, (sum_ext n (fun i => ip (own (S t) i) z) _ (O t)), sum_add. field. lra.
Qed.
(* BALANCED: trackings that start with the sum zero, and move by deviations from their mean *)
Lemma balanced {V : Inner} n (track u : nat -> nat -> V) a z :
  (0 < n)%nat ->
  ip (vsum n (track O)) z = 0 ->
  (forall t i, (i < n)%nat ->
    ip (track (S t) i) z = ip (track t i) z + a * (ip (u t i) z - ip (vsum n (u t)) z / INR n)) ->
  forall t, ip (vsum n (track t)) z = 0.
Proof.
  intros N Z H t. apply lt_0_INR in N. induction t; [exact Z |].
  rewrite ip_vsum, (sum_ext n _ _ (H t)), sum_add, <- ip_vsum, IHt, sum_scale, sum_sub, sum_const, <- ip_vsum. field. lra.
Qed.

(* ---- Numbers ---- *)

(* exp by its series: what Coq's library says of it rests on the excluded middle, too *)
Lemma exp_series x n : 0 <= x -> sum_f_R0 (fun i => / INR (fact i) * x ^ i) n <= exp x.
Proof.
  intro X. unfold exp. destruct (exist_exp x) as [e limit]. apply sum_incr; [exact limit |]. intro i.
  apply Rmult_le_pos; [apply Rlt_le, Rinv_0_lt_compat, INR_fact_lt_0 | now apply pow_le].
Qed.
Lemma exp_least x : 0 <= x -> 1 + x <= exp x.
Proof. intro X. pose proof (exp_series x 1 X) as S. simpl in S. lra. Qed.
Lemma exp_most x : 0 <= x < 1 -> exp x <= / (1 - x).
Proof.
  intro X. unfold exp. destruct (exist_exp x) as [e limit]. simpl. apply Rnot_lt_le; intro H.
  destruct (limit (e - / (1 - x)) ltac:(lra)) as [n B]. specialize (B n (le_n n)). apply Rabs_def2 in B.
  enough (sum_f_R0 (fun i => / INR (fact i) * x ^ i) n <= / (1 - x)) by lra.
  apply Rle_trans with (sum_f_R0 (fun i => x ^ i) n).
  - apply sum_Rle; intros i _. rewrite <- (Rmult_1_l (x ^ i)) at 2. apply Rmult_le_compat_r; [apply pow_le; lra |].
    rewrite <- Rinv_1. apply Rinv_le_contravar; [lra |]. apply (le_INR 1), lt_O_fact.
  - rewrite tech3 by lra. rewrite <- (Rmult_1_l (/ (1 - x))). apply Rmult_le_compat_r.
    + apply Rlt_le, Rinv_0_lt_compat. lra.
    + assert (0 <= x ^ S n) by (apply pow_le; lra). lra.
Qed.
(* ONE_MINUS, below_exponential *)
Lemma one_minus u : 1 - u <= exp (- u).
Proof.
  destruct (Rle_lt_dec u 0) as [N | P]; [pose proof (exp_least (- u)); lra |].
  destruct (Rle_lt_dec 1 u) as [A | B]; [pose proof (exp_pos (- u)); lra |].
  rewrite exp_Ropp, <- (Rinv_inv (1 - u)). apply Rinv_le_contravar; [apply exp_pos | apply exp_most; lra].
Qed.
(* what `decayed` and `contracted` say of exp *)
Lemma exp_grows a b : a <= b -> exp a <= exp b.
Proof.
  intro H. replace b with (a + (b - a)) by ring. rewrite exp_plus, <- (Rmult_1_r (exp a)) at 1.
  pose proof (exp_least (b - a)). apply Rmult_le_compat_l; [apply Rlt_le, exp_pos | lra].
Qed.
Lemma exp_times a n : exp a ^ n = exp (a * INR n).
Proof.
  induction n; [simpl; now rewrite Rmult_0_r, exp_0 |].
  rewrite S_INR, Rmult_plus_distr_l, Rmult_1_r, exp_plus, <- IHn. simpl; ring.
Qed.
(* decayed *)
Lemma decayed u n : 0 <= 1 - u -> (1 - u) ^ n <= exp (- u * INR n).
Proof. intro H. rewrite <- exp_times. apply pow_incr. split; [exact H | apply one_minus]. Qed.
(* exp (- least) <= 1 - 1 / times, as `contracted` needs it *)
Lemma decayed_enough times : 1 < times -> exp (- (1 / (times - 1))) <= 1 - 1 / times.
Proof.
  intro H. assert (0 < 1 / (times - 1)) by (apply Rdiv_lt_0_compat; lra).
  pose proof (exp_least (1 / (times - 1)) ltac:(lra)) as E. rewrite exp_Ropp.
  replace (1 - 1 / times) with (/ (1 + 1 / (times - 1))) by (field; lra). apply Rinv_le_contravar; lra.
Qed.
(* solved *)
Lemma solved q c share rest : 0 <= q -> share < 1 -> c <= share -> q <= c * q + rest -> q <= rest / (1 - share).
Proof.
  intros Q S C H. apply (Rmult_le_compat_r q) in C; [| exact Q].
  apply Rmult_le_reg_l with (1 - share); [lra |].
  replace ((1 - share) * (rest / (1 - share))) with rest by (field; lra). lra.
Qed.

(* "the gap on the left": its factor is at least f *)
Lemma gap_on_the_left gap bracket f q rest :
  0 <= gap -> 0 < f -> f <= bracket -> q <= rest - bracket * gap -> gap <= (rest - q) / f.
Proof.
  intros G F B H. apply (Rmult_le_compat_r gap) in B; [| exact G]. apply Rmult_le_reg_l with f; [exact F |].
  replace (f * ((rest - q) / f)) with (rest - q) by (field; lra). lra.
Qed.

(* ---- Sequences: from a round to a run ---- *)

(* induction *)
Lemma induction_over_steps first (a bound : nat -> R) :
  a first <= bound first -> (forall t, (first <= t)%nat -> a t <= bound t -> a (S t) <= bound (S t)) ->
  forall t, (first <= t)%nat -> a t <= bound t.
Proof. intros B H t T. induction T; auto. Qed.

Lemma geometric q n : q <> 1 -> sum n (fun i => q ^ i) = (1 - q ^ n) / (1 - q).
Proof. intro N. induction n; [simpl; field; lra |]. rewrite sum_next, IHn. simpl. field. lra. Qed.

(* lasting: the state after n rounds, with the powers written out *)
Lemma contraction q c (a : nat -> R) n :
  0 <= q -> (forall t, (t < n)%nat -> a (S t) <= q * a t + c) -> a n <= q ^ n * a O + c * sum n (fun i => q ^ i).
Proof.
  intros Q. induction n; intro H; [simpl; lra |].
  assert (I : a n <= q ^ n * a O + c * sum n (fun i => q ^ i)) by (apply IHn; intros; apply H; lia).
  eapply Rle_trans; [apply H; lia |]. rewrite sum_first.
  rewrite (sum_ext n (fun i => q ^ S i) (fun i => q * q ^ i)) by reflexivity.
  rewrite (sum_scale n q (fun i => q ^ i)). apply (Rmult_le_compat_l q) in I; [simpl; lra | exact Q].
Qed.
Lemma contraction_closed q c (a : nat -> R) n :
  0 <= q -> q <> 1 -> (forall t, (t < n)%nat -> a (S t) <= q * a t + c) ->
  a n <= q ^ n * a O + c * ((1 - q ^ n) / (1 - q)).
Proof. intros Q N H. rewrite <- (geometric q n N). now apply contraction. Qed.
(* lasting, with the sum of all powers instead *)
Lemma lasting q c (a : nat -> R) n :
  0 <= q < 1 -> 0 <= c -> (forall t, (t < n)%nat -> a (S t) <= q * a t + c) -> a n <= q ^ n * a O + c / (1 - q).
Proof.
  intros [Q Q1] C H. eapply Rle_trans; [apply (contraction_closed q c a n); try assumption; lra |].
  assert (0 <= q ^ n) by (now apply pow_le). assert (0 <= c / (1 - q)) by (apply Rle_mult_inv_pos; lra).
  replace (c * ((1 - q ^ n) / (1 - q))) with (c / (1 - q) - q ^ n * (c / (1 - q))) by (field; lra).
  assert (0 <= q ^ n * (c / (1 - q))) by (now apply Rmult_le_pos). lra.
Qed.
(* lasting, then decayed *)
Lemma lasting_decayed u c (a : nat -> R) n :
  0 < u <= 1 -> 0 <= c -> 0 <= a O -> (forall t, (t < n)%nat -> a (S t) <= (1 - u) * a t + c) ->
  a n <= exp (- u * INR n) * a O + c / u.
Proof.
  intros U C A H. pose proof (lasting (1 - u) c a n ltac:(lra) C H) as L.
  replace (1 - (1 - u)) with u in L by ring. pose proof (decayed u n ltac:(lra)) as D.
  apply (Rmult_le_compat_r (a O)) in D; lra.
Qed.
(* within *)
Lemma within q c (a : nat -> R) n :
  0 <= q < 1 -> 0 <= c -> 0 <= a O -> (forall t, (t < n)%nat -> a (S t) <= q * a t + c) -> a n <= a O + c / (1 - q).
Proof.
  intros Q C A H. eapply Rle_trans; [apply (lasting q c a n Q C H) |]. apply Rplus_le_compat_r.
  assert (q ^ n <= 1) by (rewrite <- (pow1 n); apply pow_incr; lra).
  apply (Rmult_le_compat_r (a O)) in H0; lra.
Qed.
(* gathered: each part returns at most rho times its weight *)
Lemma gathered n rho w c (after before : nat -> R) rest :
  (forall i, (i < n)%nat -> 0 <= before i) -> (forall i, (i < n)%nat -> c i <= rho * w i) ->
  sum n (fun i => w i * after i) <= sum n (fun i => c i * before i) + rest ->
  sum n (fun i => w i * after i) <= rho * sum n (fun i => w i * before i) + rest.
Proof.
  intros B C H. eapply Rle_trans; [exact H |]. apply Rplus_le_compat_r. rewrite <- sum_scale.
  apply sum_le; intros i I. rewrite <- Rmult_assoc. apply Rmult_le_compat_r; auto.
Qed.

(* averaged, with what each round adds: the states cancel, except the first and the last *)
Lemma added_up (a g c : nat -> R) P n :
  (forall t, (t < n)%nat -> a (S t) <= a t - P * g t + c t) -> P * sum n g <= a O - a n + sum n c.
Proof.
  intro H. rewrite <- sum_scale. replace (a O - a n) with (- sum n (fun t => a (S t) - a t)) by (rewrite telescoping; ring).
  enough (sum n (fun t => P * g t) + sum n (fun t => a (S t) - a t) <= sum n c) by lra.
  rewrite <- sum_add. apply sum_le; intros t T. specialize (H t T). lra.
Qed.
(* averaged: the last state is dropped *)
Lemma averaged (a g : nat -> R) P c n :
  (0 < n)%nat -> 0 < P -> 0 <= a n -> (forall t, (t < n)%nat -> a (S t) <= a t - P * g t + c) ->
  sum n g / INR n <= (a O / INR n + c) / P.
Proof.
  intros N P0 A H. pose proof (added_up a g (fun _ => c) P n H) as B. rewrite sum_const in B. apply lt_0_INR in N.
  apply Rmult_le_reg_l with (INR n * P); [now apply Rmult_lt_0_compat |].
  replace (INR n * P * (sum n g / INR n)) with (P * sum n g) by (field; lra).
  replace (INR n * P * ((a O / INR n + c) / P)) with (a O + INR n * c) by (field; lra). lra.
Qed.
(* a recursion times its weights, which may be any; W (t + 1) is the weight of round t *)
Lemma weighted (a g c rho W : nat -> R) P n :
  (forall t, (t < n)%nat -> 0 <= W (S t)) -> (forall t, (t < n)%nat -> W (S t) * rho t = W t) ->
  (forall t, (t < n)%nat -> a (S t) <= rho t * a t - P * g t + c t) ->
  P * sum n (fun t => W (S t) * g t) + W n * a n <= W O * a O + sum n (fun t => W (S t) * c t).
Proof.
  intros W0 E H. pose proof (added_up (fun t => W t * a t) (fun t => W (S t) * g t) (fun t => W (S t) * c t) P n) as B.
  enough (P * sum n (fun t => W (S t) * g t) <= W O * a O - W n * a n + sum n (fun t => W (S t) * c t)) by lra.
  apply B. intros t T. specialize (H t T). apply (Rmult_le_compat_l (W (S t))) in H; [| auto].
  rewrite <- (E t T). lra.
Qed.
Lemma power_weight rho t : 0 < rho -> / rho ^ S t * rho = / rho ^ t.
Proof. intro H. simpl. field. split; [apply pow_nonzero |]; lra. Qed.
(* telescope: the last state is dropped *)
Lemma telescope (a g : nat -> R) rho P c n :
  (0 < n)%nat -> 0 < rho -> 0 < P -> 0 <= a n ->
  (forall t, (t < n)%nat -> a (S t) <= rho * a t - P * g t + c) ->
  let w t := / rho ^ S t in
  sum n (fun t => w t * g t) / sum n w <= (a O / sum n w + c) / P.
Proof.
  intros N R P0 A H w. assert (W : forall t, 0 < / rho ^ t) by (intro; apply Rinv_0_lt_compat; now apply pow_lt).
  assert (T : 0 < sum n w).
  { eapply Rlt_le_trans; [exact (W 1%nat) |]. apply (one_of_sum n 0 w); [intros; apply Rlt_le, W | exact N]. }
  assert (B : P * sum n (fun t => w t * g t) + / rho ^ n * a n <= a O + c * sum n w).
  { replace (a O + c * sum n w) with (/ rho ^ 0 * a O + sum n (fun t => w t * c)).
    - apply (weighted a g (fun _ => c) (fun _ => rho) (fun t => / rho ^ t) P n); [| | exact H].
      + intros; apply Rlt_le, W.
      + intros; now apply power_weight.
    - rewrite pow_O, Rinv_1, Rmult_1_l, <- sum_scale. f_equal. apply sum_ext; intros; ring. }
  assert (0 <= / rho ^ n * a n) by (apply Rmult_le_pos; [apply Rlt_le, W | exact A]).
  apply Rmult_le_reg_l with (sum n w * P); [now apply Rmult_lt_0_compat |].
  replace (sum n w * P * (sum n (fun t => w t * g t) / sum n w)) with (P * sum n (fun t => w t * g t)) by (field; lra).
  replace (sum n w * P * ((a O / sum n w + c) / P)) with (a O + c * sum n w) by (field; lra). lra.
Qed.
(* telescope, with the last state kept: all weights are 1 *)
Lemma telescope_kept (a g : nat -> R) P c n :
  (0 < n)%nat -> 0 < P -> (forall t, (t < n)%nat -> a (S t) <= a t - P * g t + c) ->
  sum n g / INR n <= ((a O - a n) / INR n + c) / P.
Proof.
  intros N P0 H. pose proof (averaged (fun t => a t - a n) g P c n N P0) as A. apply A; [lra |].
  intros t T. specialize (H t T). lra.
Qed.
(* contracted, the closed form: the sum of the weights (1 - u)^-(t+1) *)
Lemma sum_of_weights u n : 0 < u < 1 -> sum n (fun t => / (1 - u) ^ S t) = (/ (1 - u) ^ n - 1) / u.
Proof.
  intro U. assert (N : forall k, (1 - u) ^ k <> 0) by (intro; apply pow_nonzero; lra).
  induction n; [simpl; field; lra |]. rewrite sum_next, IHn. simpl. field. repeat split; auto; lra.
Qed.
(* contracted: what the start counts for *)
Lemma contracted u n times start rest q :
  0 < u < 1 -> 1 < times -> 1 / (times - 1) <= u * INR n -> 0 <= start ->
  q <= start / sum n (fun t => / (1 - u) ^ S t) + rest -> q <= times * u * start * exp (- u * INR n) + rest.
Proof.
  intros U T E A H. eapply Rle_trans; [exact H |]. apply Rplus_le_compat_r. rewrite (sum_of_weights u n U).
  pose proof (decayed u n ltac:(lra)) as D. set (p := (1 - u) ^ n) in *.
  assert (P : 0 < p) by (apply pow_lt; lra).
  assert (B : exp (- u * INR n) <= 1 - 1 / times).
  { eapply Rle_trans; [| exact (decayed_enough times T)]. apply exp_grows. lra. }
  set (e := exp (- u * INR n)) in *. assert (I : 0 < 1 / times) by (apply Rdiv_lt_0_compat; lra).
  replace (start / ((/ p - 1) / u)) with (u * start * (p * / (1 - p))) by (field; lra).
  replace (times * u * start * e) with (u * start * (e * times)) by ring.
  apply Rmult_le_compat_l; [apply Rmult_le_pos; lra |].
  apply Rmult_le_compat; [lra | apply Rlt_le, Rinv_0_lt_compat; lra | lra |].
  replace times with (/ (1 / times)) by (field; lra). apply Rinv_le_contravar; lra.
Qed.

(* ---- Means over the rounds ---- *)

(* the smallest is at most the mean, with weights *)
Lemma smallest_of_weighted n w g least :
  (forall t, (t < n)%nat -> 0 <= w t) -> 0 < sum n w -> (forall t, (t < n)%nat -> least <= g t) ->
  least <= sum n (fun t => w t * g t) / sum n w.
Proof.
  intros W T H. apply Rmult_le_reg_l with (sum n w); [exact T |].
  replace (sum n w * (sum n (fun t => w t * g t) / sum n w)) with (sum n (fun t => w t * g t)) by (field; lra).
  rewrite Rmult_comm, <- sum_scale. apply sum_le; intros t I. rewrite Rmult_comm. apply Rmult_le_compat_l; auto.
Qed.
(* the smallest is at most the mean, equal weights *)
Lemma smallest n g least : (0 < n)%nat -> (forall t, (t < n)%nat -> least <= g t) -> least <= sum n g / INR n.
Proof.
  intros N H. apply lt_0_INR in N. apply Rmult_le_reg_l with (INR n); [exact N |].
  replace (INR n * (sum n g / INR n)) with (sum n g) by (field; lra). rewrite <- sum_const. now apply sum_le.
Qed.
(* ... and there is one *)
Lemma smallest_exists n g : exists t, (t <= n)%nat /\ forall s, (s <= n)%nat -> g t <= g s.
Proof.
  induction n as [| n [t [T H]]].
  - exists O. split; [lia |]. intros s I. replace s with O by lia. lra.
  - destruct (Rle_lt_dec (g t) (g (S n))) as [L | L].
    + exists t. split; [lia |]. intros s I. destruct (Nat.eq_dec s (S n)) as [-> |]; [exact L | apply H; lia].
    + exists (S n). split; [lia |]. intros s I. destruct (Nat.eq_dec s (S n)) as [-> |]; [lra |].
      assert (g t <= g s) by (apply H; lia). lra.
Qed.
(* "v is that maximum" *)
Lemma largest_exists n g : exists t, (t <= n)%nat /\ forall s, (s <= n)%nat -> g s <= g t.
Proof.
  destruct (smallest_exists n (fun t => - g t)) as [t [T H]]. exists t. split; [exact T |].
  intros s I. specialize (H s I). simpl in H. lra.
Qed.
(* the mean over the rounds: equal weights *)
Lemma mean_of_equal_weights n w g :
  w <> 0 -> sum n (fun t => w * g t) / sum n (fun _ => w) = sum n g / INR n.
Proof.
  intro N. destruct n; [simpl; unfold Rdiv; ring |].
  assert (0 < INR (S n)) by (apply lt_0_INR; lia). rewrite sum_scale, sum_const. field. lra.
Qed.
(* Jensen for the weighted average of the iterates, with weights of any sum *)
Lemma jensen_of_average {V : Inner} (f : V -> R) g n w (x : nat -> V) m :
  (forall t, (t < n)%nat -> 0 <= w t) -> 0 < sum n w -> tangent f g 0 ->
  (forall z, ip m z = ip (vsum n (fun t => scale (w t) (x t))) z / sum n w) ->
  f m <= sum n (fun t => w t * f (x t)) / sum n w.
Proof.
  intros W T F M. unfold Rdiv. rewrite Rmult_comm, <- sum_scale.
  rewrite (sum_ext n _ (fun t => (/ sum n w * w t) * f (x t))) by (intros; ring).
  apply (jensen_of_function f g); [| | exact F |].
  - intros. apply Rmult_le_pos; [apply Rlt_le, Rinv_0_lt_compat; exact T | auto].
  - rewrite sum_scale. field. lra.
  - intro z. rewrite M, !ip_vsum. unfold Rdiv. rewrite Rmult_comm, <- sum_scale.
    apply sum_ext; intros; products; ring.
Qed.

(* ---- Discounted sums ---- *)

(* the rounds before, by induction: a momentum is at most a factor times the discounted sum *)
Lemma discounted lam share (v d g : nat -> R) :
  0 <= lam -> v O <= share * d O -> (forall t, v (S t) <= lam * v t + share * g t) ->
  (forall t, d (S t) = lam * d t + g t) -> forall t, v t <= share * d t.
Proof.
  intros L Z H D t. induction t; [exact Z |]. rewrite D. eapply Rle_trans; [apply H |].
  apply (Rmult_le_compat_l lam) in IHt; lra.
Qed.
(* the sum over all rounds of a sequence that forgets *)
Lemma discounted_recursion lam (d g : nat -> R) n :
  0 <= lam < 1 -> 0 <= d n -> (forall t, (t < n)%nat -> d (S t) <= lam * d t + g t) ->
  sum n (fun t => d (S t)) <= (lam * d O + sum n g) / (1 - lam).
Proof.
  intros L D H. apply Rmult_le_reg_l with (1 - lam); [lra |].
  replace ((1 - lam) * ((lam * d O + sum n g) / (1 - lam))) with (lam * d O + sum n g) by (field; lra).
  pose proof (sum_le n (fun t => d (S t)) (fun t => lam * d t + g t) H) as B. rewrite sum_add, sum_scale in B.
  pose proof (telescoping n d) as T. rewrite sum_sub in T.
  apply (Rmult_le_compat_l lam) in D; [| lra].
  assert (lam * sum n d = lam * (sum n (fun t => d (S t)) - d n + d O)) by (f_equal; lra). lra.
Qed.
(* ... and of discounted sums: 1 / (1 - lambda) times the sum *)
Lemma discounted_sums lam g n :
  0 <= lam < 1 -> (forall i, (i < n)%nat -> 0 <= g i) ->
  sum n (fun t => sum (S t) (fun i => lam ^ (t - i) * g i)) <= 1 / (1 - lam) * sum n g.
Proof.
  intros L G. set (d := fun t => sum t (fun i => lam ^ (pred t - i) * g i)).
  assert (D : forall t, (t <= n)%nat -> 0 <= d t).
  { intros t T. apply sum_least; intros i I. apply Rmult_le_pos; [apply pow_le; lra | apply G; lia]. }
  replace (1 / (1 - lam) * sum n g) with ((lam * d O + sum n g) / (1 - lam)) by (unfold d; simpl; field; lra).
  apply (discounted_recursion lam d g n L (D n (le_n n))).
  intros t T. unfold d. rewrite sum_next, <- sum_scale, Nat.sub_diag. simpl pred.
  apply Req_le. rewrite pow_O, Rmult_1_l. f_equal. apply sum_ext; intros i I.
  replace (t - i)%nat with (S (pred t - i)) by lia. simpl; ring.
Qed.
