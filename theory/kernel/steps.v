(* Local steps one after another: x_0 = x, x_(t+1) = x_t - eta * d_t, with a stochastic gradient d_t of a function f_t.

   Both algorithms are made of this: in PFL each client takes K steps, in SFL the clients take M K steps in all. *)
Require Import Reals Lra Lia.
Require Import rules chance.
Open Scope R_scope.

(* Assumption 2, for one gradient: unbiased, with variance at most sigma^2 *)
Definition stochastic_gradient {V : Inner} (D : Dist V) (gradient : V) sigma :=
  (forall z, E D (fun g => ip g z) = ip gradient z) /\ E D (fun g => sq (sub g gradient)) <= sigma ^ 2.

Fixpoint point {V : Inner} (eta : R) (x : V) (d : nat -> V) (t : nat) : V :=
  match t with
  | O => x
  | S t => sub (point eta x d t) (scale eta (d t))
  end.

Lemma known_point {V : Inner} eta (x : V) t : known t (fun d => point eta x d t).
Proof.
  intros d e H. induction t; simpl; [reflexivity |]. rewrite IHt, H by (intros; try apply H; lia). reflexivity.
Qed.
Lemma ip_point {V : Inner} eta (x : V) d t z : ip (point eta x d t) z = ip x z - eta * ip (vsum t d) z.
Proof. induction t; simpl; products; [ring |]. rewrite IHt. ring. Qed.
Lemma known_vsum {V : Inner} t (f : nat -> (nat -> V) -> V) :
  (forall i, (i < t)%nat -> known t (f i)) -> known t (fun d => vsum t (fun i => f i d)).
Proof.
  intros K d e H. enough (forall s, (s <= t)%nat -> vsum s (fun i => f i d) = vsum s (fun i => f i e)) as G by (apply
    G; lia).
  induction s; intro I; simpl; [reflexivity |]. rewrite IHs by lia. f_equal. apply (K s); [lia | exact H].
Qed.
Lemma known_more {A B} s t (f : (nat -> A) -> B) : known s f -> (s <= t)%nat -> known t f.
Proof. intros K T d e H. apply K. intros; apply H; lia. Qed.

Lemma tangent_plain {V : Inner} (f : V -> R) grad mu : 0 <= mu -> tangent f grad mu -> tangent f grad 0.
Proof.
  intros P T x y. specialize (T x y). pose proof (square (sub y x)) as S. apply (Rmult_le_compat_l mu) in S; lra.
Qed.

Section Steps.
Context {V : Inner}.
Variables (f : nat -> V -> R) (grad : nat -> V -> V) (next : nat -> (nat -> V) -> Dist V) (n : nat).
Variables (L mu kappa sigma eta : R) (x xstar : V).
Hypothesis L_positive : 0 < L.
Hypothesis smooth : forall t, (t < n)%nat -> smooth_above (f t) (grad t) L.
Hypothesis convex : forall t, (t < n)%nat -> tangent (f t) (grad t) mu.
Hypothesis curvature : 0 <= mu.
(* the share of strong convexity in the divergence to x* *)
Hypothesis share : 0 <= kappa <= 1.
Hypothesis noise_bounded :
  forall t d, (t < n)%nat -> stochastic_gradient (next t d) (grad t (point eta x d t)) sigma.

Definition steps := loop zero next n.
Local Notation Rand := (Random steps V).

(* random vectors of step t *)
Definition gradient_ t : Rand := fun d => d t.
Definition local t : Rand := fun d => grad t (point eta x d t).
Definition noise t : Rand := fun d => sub (d t) (grad t (point eta x d t)).
Definition start t : Rand := fun _ => grad t x.
Definition star t : Rand := fun _ => grad t xstar.
Definition u t : Rand := fun d => sub (grad t (point eta x d t)) (grad t xstar).
Definition w t : Rand := fun d => sub (grad t x) (grad t (point eta x d t)).
Definition far : Rand := fun _ => sub x xstar.
Definition near t : Rand := fun d => sub (point eta x d t) xstar.

Lemma known_local t : known t (local t).
Proof. intros d e H. unfold local. f_equal. now apply known_point. Qed.
Lemma known_noise t : known (S t) (noise t).
Proof.
  intros d e H. unfold noise. f_equal; [apply H; lia |]. apply known_local. intros; apply H; lia.
Qed.
Lemma known_sum t (y : nat -> Rand) : (forall i, (i < t)%nat -> known t (y i : _ -> V)) -> known t (vsum t y : _ -> V).
Proof. intros K d e H. rewrite !vsum_at. apply (known_vsum t y); assumption. Qed.

(* FRESH: noise has mean zero beside what is known before it is drawn *)
Lemma fresh t (y : Rand) : (t < n)%nat -> known t (y : _ -> V) -> ip (noise t) y = 0.
Proof.
  intros T K. rewrite ip_random. unfold steps.
  rewrite (E_earlier zero next (S t) n); [| | lia].
  2:{ intros d e H. f_equal; [now apply known_noise | apply K; intros; apply H; lia]. }
  rewrite E_next, <- (E_const (loop zero next t) 0). apply E_ext; intro d.
  destruct (noise_bounded t d T) as [M _].
  rewrite (E_ext _ _ (fun g => ip g (y d) - ip (local t d) (y d))).
  - rewrite E_sub, M, E_const. unfold local. ring.
  - intro g. unfold noise. rewrite set_at, (known_set t y t d g K), ip_sub by lia.
    fold (local t (set d t g)). now rewrite (known_set t (local t) t d g (known_local t)) by lia.
Qed.
Lemma variance t : (t < n)%nat -> sq (noise t) <= sigma ^ 2.
Proof.
  intro T. unfold sq at 1. rewrite ip_random. unfold steps.
  rewrite (E_earlier zero next (S t) n); [| | lia].
  2:{ intros d e H. f_equal; now apply known_noise. }
  rewrite E_next, <- (E_const (loop zero next t) (sigma ^ 2)). apply E_le; intro d.
  destruct (noise_bounded t d T) as [_ B]. eapply Rle_trans; [| exact B]. apply Req_le, E_ext; intro g.
  unfold noise. rewrite set_at. fold (local t (set d t g)).
  now rewrite (known_set t (local t) t d g (known_local t)) by lia.
Qed.

(* <sum of local gradients, sum of noise> = sum of <local gradient, noise before> *)
Lemma fresh_sum t (y : Rand) : (t <= n)%nat -> known 0 (y : _ -> V) -> ip (vsum t noise) y = 0.
Proof.
  intros T K. rewrite ip_vsum, (sum_ext t _ (fun _ => 0)); [rewrite sum_const; ring |].
  intros i I. apply fresh; [lia | apply (known_more 0); [exact K | lia]].
Qed.
Lemma successive_noise t : (t < n)%nat -> ip (noise t) (vsum t noise) = 0.
Proof.
  intro T. apply fresh; [exact T |]. apply known_sum. intros i I. apply (known_more (S i)); [apply known_noise | lia].
Qed.
Lemma beside_noise : ip (vsum n local) (vsum n noise) = sum n (fun t => ip (local t) (vsum t noise)).
Proof.
  rewrite (in_order n local noise), (sum_ext n (fun t => ip (local t) (noise t)) (fun _ => 0)),
    (sum_ext n (fun t => ip (noise t) (vsum t local)) (fun _ => 0)), !sum_const; [ring | |].
  - intros t T. apply fresh; [exact T |]. apply known_sum. intros i I. apply (known_more i); [apply known_local | lia].
  - intros t T. rewrite ip_sym. apply fresh; [exact T | apply known_local].
Qed.
Lemma all_noise t : (t <= n)%nat -> sq (vsum t noise) <= INR t * sigma ^ 2.
Proof. intro T. apply successive_bounded; intros; [apply successive_noise | apply variance]; lia. Qed.
Lemma noise_so_far : sum n (fun t => sq (vsum t noise)) <= INR n * (INR n - 1) / 2 * sigma ^ 2.
Proof. apply noise_before; intros; [now apply successive_noise | now apply variance]. Qed.
Lemma gradients_split : forall y : Rand, ip (vsum n gradient_) y = ip (vsum n local) y + ip (vsum n noise) y.
Proof.
  intro y. rewrite !ip_vsum, <- sum_add. apply sum_ext; intros t _. rewrite !ip_random, <- E_add. apply E_ext; intro d.
  unfold gradient_, local, noise. rewrite ip_sub. ring.
Qed.

Definition gap_at_start := sum n (fun t => f t x - f t xstar).

(* x_t - x = - eta (what comes before) *)
Lemma moved t d z :
  ip (point eta x d t) z
  = ip x z - eta * (ip (vsum t u d) z + ip (vsum t star d) z + ip (vsum t noise d) z).
Proof.
  rewrite !vsum_at, ip_point, !ip_vsum, <- !sum_add. f_equal. f_equal. apply sum_ext; intros i _.
  unfold u, star, noise. rewrite !ip_sub. ring.
Qed.
Lemma near_is t (y : Rand) :
  ip (near t) y = ip far y - eta * (ip (vsum t u) y + ip (vsum t star) y + ip (vsum t noise) y).
Proof.
  rewrite !ip_random, <- !E_add, <- E_scale, <- E_sub. apply E_ext; intro d. unfold near, far.
  rewrite !ip_sub, moved. ring.
Qed.

(* where the steps lead, seen from one step: both divergences of f_t at x_t, by COCOERCIVE and TANGENT *)
Lemma divergences t :
  (t < n)%nat ->
  - ip (local t) far
  <= - (f t x - f t xstar) - ((1 - kappa) * sq (u t) + sq (w t)) / (2 * L) - kappa * mu / 2 * sq (near t)
     + eta * (ip (w t) (vsum t u) + ip (w t) (vsum t star) + ip (w t) (vsum t noise)).
Proof.
  intro T. apply Rle_trans with (E steps (fun d => -1 * (f t x - f t xstar)
    + - ((1 - kappa) / (2 * L)) * ip (u t d) (u t d) + - (1 / (2 * L)) * ip (w t d) (w t d)
    + - (kappa * mu / 2) * ip (near t d) (near t d)
    + eta * (ip (w t d) (vsum t u d) + ip (w t d) (vsum t star d) + ip (w t d) (vsum t noise d)))).
  2:{ rewrite !E_add, !E_scale, E_const, !E_add, <- !ip_random. apply Req_le. unfold sq. field. lra. }
  rewrite ip_random, <- (Rmult_1_l (E _ _)), Ropp_mult_distr_l, <- E_scale. apply E_le; intro d.
  set (y := point eta x d t).
  pose proof (tangent_plain _ _ mu curvature (convex t T)) as plain.
  pose proof (cocoercive (f t) (grad t) L y xstar L_positive (smooth t T) plain) as A.
  pose proof (cocoercive (f t) (grad t) L x y L_positive (smooth t T) plain) as B.
  pose proof (convex t T y xstar) as C.
  assert (U : sq (sub (grad t xstar) (grad t y)) = ip (u t d) (u t d)).
  { unfold u, sq. fold y. products. ring. }
  assert (W : sq (sub (grad t y) (grad t x)) = ip (w t d) (w t d)).
  { unfold w, sq. fold y. products. ring. }
  assert (N : sq (sub xstar y) = ip (near t d) (near t d)).
  { unfold near, sq. fold y. products. ring. }
  rewrite U in A. rewrite W in B. rewrite N in C. rewrite ip_sub_r in A, B, C.
  pose proof (moved t d (w t d)) as D. fold y in D.
  rewrite (ip_sym (w t d) (vsum t u d)), (ip_sym (w t d) (vsum t star d)), (ip_sym (w t d) (vsum t noise d)).
  assert (D' : forall z, ip z (w t d) = ip (grad t x) z - ip (grad t y) z).
  { intro z. unfold w. fold y. now rewrite ip_sub_r, !(ip_sym z). }
  rewrite !(D' x), !(D' y) in D. unfold local, far. fold y. rewrite ip_sub_r.
  apply Rge_le in A, B, C. apply (Rmult_le_compat_l (1 - kappa)) in A; [| lra].
  apply (Rmult_le_compat_l kappa) in C; [| lra]. unfold Rdiv in A, B, C |- *. rewrite Rinv_mult in A, B |- *. lra.
Qed.

(* the same for all steps; f = (1 - q) eta: what is left of the noise stands beside w *)
Lemma chain q :
  0 <= q <= 1 -> 0 <= eta ->
  let f_ := (1 - q) * eta in
  - (2 * f_) * ip (vsum n local) far + 2 * f_ ^ 2 * ip (vsum n local) (vsum n noise)
  <= - (2 * f_) * gap_at_start
     + sum n (fun t => - (f_ / L) * ((1 - kappa) * sq (u t) + sq (w t)) - f_ * kappa * mu * sq (near t)
         + 2 * f_ * eta * (ip (w t) (vsum t u) + ip (w t) (vsum t star) + q * ip (w t) (vsum t noise))).
Proof.
  intros Q H f_. rewrite beside_noise, ip_vsum, <- !sum_scale. unfold gap_at_start. rewrite <- sum_scale, <- !sum_add.
  apply sum_le; intros t T. pose proof (divergences t T) as D.
  assert (Z : ip (local t) (vsum t noise) = - ip (w t) (vsum t noise)).
  { pose proof (fresh_sum t (start t) ltac:(lia) ltac:(intros d e _; reflexivity)) as Z. rewrite ip_sym in Z.
    enough (ip (w t) (vsum t noise) = ip (start t) (vsum t noise) - ip (local t) (vsum t noise)) by lra.
    rewrite !ip_random, <- E_sub. apply E_ext; intro d. apply ip_sub. }
  rewrite Z. assert (P : 0 <= f_) by (apply Rmult_le_pos; lra).
  apply (Rmult_le_compat_l (2 * f_)) in D; [| lra].
  set (dot := ip (w t) (vsum t u) + ip (w t) (vsum t star) + ip (w t) (vsum t noise)) in *.
  replace (2 * f_ * (- (f t x - f t xstar) - ((1 - kappa) * sq (u t) + sq (w t)) / (2 * L)
      - kappa * mu / 2 * sq (near t) + eta * dot))
    with (- (2 * f_) * (f t x - f t xstar) - f_ / L * ((1 - kappa) * sq (u t) + sq (w t)) - f_ * kappa * mu * sq (near t)
      + 2 * f_ * eta * dot) in D by (field; lra).
  unfold dot, f_ in *. lra.
Qed.

(* what is left, by Young's inequality *)
Section Young.
Variables (q rho extra more : R).
Hypothesis eta_positive : 0 < eta.
Hypothesis part : 0 <= q < 1.
Hypothesis weight : 0 < rho.
Hypothesis flat : mu <= L.
Hypothesis apart : 0 <= extra /\ 0 <= more /\ forall a b : Rand, 2 * (q * ip a b) <= extra * sq a + more * (q ^ 2 * sq b).
Hypothesis small : INR n * eta <= 1 / (6 * L).
Hypothesis enough_left : 1 / 6 + (1 + 1 / rho + extra) / 72 <= 1 - kappa.

Lemma noise_beside_star t : (t <= n)%nat -> ip (vsum t noise) (vsum t star) = 0.
Proof. intro T. apply fresh_sum; [exact T |]. intros d e _. now rewrite !vsum_at. Qed.

(* the noise does not bring x_t nearer to x* *)
Lemma near_least t :
  (t < n)%nat ->
  (1 - rho) * sq far - 2 * eta * ip far (vsum t star) + eta ^ 2 * sq (add (vsum t u) (vsum t star))
    - eta ^ 2 * (1 + 1 / rho) * sq (vsum t u)
  <= sq (near t).
Proof.
  intro T. pose proof (noise_beside_star t ltac:(lia)) as O.
  pose proof (fresh_sum t far ltac:(lia) ltac:(intros d e _; reflexivity)) as O'.
  assert (N : sq (near t) = ip far (near t)
    - eta * (ip (vsum t u) (near t) + ip (vsum t star) (near t) + ip (vsum t noise) (near t))) by apply near_is.
  rewrite N, !(ip_sym _ (near t)), !near_is.
  set (U := vsum t u) in *. set (S := vsum t star) in *. set (Z := vsum t noise) in *.
  pose proof (young rho far (scale eta U) weight) as Y. pose proof (square (add U Z)) as P.
  apply (Rmult_le_compat_l (eta ^ 2)) in P; [| apply pow2_ge_0]. unfold sq in *. products_in Y. products_in P. products.
  rewrite (ip_sym Z U), (ip_sym S U), (ip_sym U far), (ip_sym S far), (ip_sym far Z), (ip_sym S Z) in *.
  rewrite O, O' in *. unfold Rdiv in *. lra.
Qed.

Lemma one_step t :
  (t < n)%nat ->
  2 * (ip (w t) (vsum t u) + ip (w t) (vsum t star) + q * ip (w t) (vsum t noise))
  <= sq (w t) / (eta * L)
     + eta * L * (sq (add (vsum t u) (vsum t star)) + extra * sq (vsum t u) + (1 + more) * (q ^ 2 * sq (vsum t noise))).
Proof.
  intro T. assert (P : 0 < eta * L) by (now apply Rmult_lt_0_compat).
  pose proof (noise_beside_star t ltac:(lia)) as O.
  set (U := vsum t u) in *. set (S := vsum t star) in *. set (Z := vsum t noise) in *.
  pose proof (young (eta * L) (add (add U S) (scale q Z)) (w t) P) as Y. pose proof (proj2 (proj2 apart) U Z) as A.
  apply (Rmult_le_compat_l (eta * L)) in A; [| lra].
  unfold sq in *. products_in Y. products.
  rewrite (ip_sym S U), (ip_sym Z U), (ip_sym S Z), O, (ip_sym U (w t)), (ip_sym S (w t)), (ip_sym Z (w t)) in *. lra.
Qed.

Lemma young_steps :
  let f_ := (1 - q) * eta in
  - (2 * f_) * ip (vsum n local) far + 2 * f_ ^ 2 * ip (vsum n local) (vsum n noise)
    + f_ * eta * INR n * sum n (fun t => sq (u t))
  <= - (2 * f_) * gap_at_start - f_ * kappa * mu * (1 - rho) * INR n * sq (sub x xstar)
     + 2 * (f_ * eta) * (kappa * mu) * sum n (fun t => ip far (vsum t star))
     + f_ * eta ^ 2 * L * ((1 + rho) * sum n (fun t => sq (vsum t star))
                           + (1 + more) * q ^ 2 * (INR n * (INR n - 1) / 2 * sigma ^ 2)).
Proof.
  intro f_. assert (F : 0 < f_) by (apply Rmult_lt_0_compat; lra).
  pose proof (chain q ltac:(lra) ltac:(lra)) as C. cbv zeta in C. fold f_ in C.
  pose proof (sums_before n u) as SU. pose proof noise_so_far as SZ.
  assert (far_is : sq far = sq (sub x xstar)) by exact (E_const _ (sq (sub x xstar))).
  set (Su := sum n (fun t => sq (u t))) in *. set (of_u := 1 + 1 / rho + extra) in *.
  assert (Q : 0 < f_ * eta ^ 2 * L) by (repeat apply Rmult_lt_0_compat; lra).
  destruct apart as [extra_ [more_ _]].
  assert (R0 : 0 < 1 / rho) by (apply Rdiv_lt_0_compat; lra).
  assert (KM : 0 <= kappa * mu <= L).
  { split; [apply Rmult_le_pos; lra |]. apply Rle_trans with (1 * mu); [apply Rmult_le_compat_r |]; lra. }
  assert (B : sum n (fun t => - (f_ / L) * ((1 - kappa) * sq (u t) + sq (w t)) - f_ * kappa * mu * sq (near t)
      + 2 * f_ * eta * (ip (w t) (vsum t u) + ip (w t) (vsum t star) + q * ip (w t) (vsum t noise)))
    <= - (f_ / L * (1 - kappa)) * Su + INR n * (- f_ * kappa * mu * (1 - rho) * sq (sub x xstar))
      + 2 * (f_ * eta) * (kappa * mu) * sum n (fun t => ip far (vsum t star))
      + f_ * eta ^ 2 * L * (of_u * sum n (fun t => sq (vsum t u)) + (1 + rho) * sum n (fun t => sq (vsum t star))
        + (1 + more) * q ^ 2 * sum n (fun t => sq (vsum t noise)))).
  { unfold Su. rewrite <- sum_const, <- !sum_scale, <- !sum_add, <- !sum_scale, <- !sum_add. apply sum_le; intros t T.
    pose proof (one_step t T) as O. apply (Rmult_le_compat_l (f_ * eta)) in O; [| apply Rlt_le, Rmult_lt_0_compat; lra].
    pose proof (near_least t T) as N. rewrite far_is in N.
    apply (Rmult_le_compat_l (f_ * (kappa * mu))) in N; [| apply Rmult_le_pos; lra].
    pose proof (young_sum rho (vsum t star) (vsum t u) weight) as Y.
    replace (sq (add (vsum t star) (vsum t u))) with (sq (add (vsum t u) (vsum t star))) in Y
      by (products; rewrite (ip_sym (vsum t star) (vsum t u)); ring).
    apply (Rmult_le_compat_l (f_ * eta ^ 2 * (L - kappa * mu))) in Y.
    2:{ apply Rmult_le_pos; [apply Rmult_le_pos; [lra | apply pow2_ge_0] | lra]. }
    assert (D : 0 <= f_ * eta ^ 2 * (kappa * mu) * (1 + rho) * sq (vsum t star)).
    { repeat apply Rmult_le_pos; try apply square; lra. }
    set (S := sq (vsum t star)) in *. set (U := sq (vsum t u)) in *. set (US := sq (add _ _)) in *.
    set (Z := sq (vsum t noise)) in *. set (dot := ip (w t) (vsum t u) + _ + _) in *.
    replace (f_ * eta * (sq (w t) / (eta * L) + eta * L * (US + extra * U + (1 + more) * (q ^ 2 * Z))))
      with (f_ / L * sq (w t) + f_ * eta ^ 2 * L * (US + extra * U + (1 + more) * (q ^ 2 * Z))) in O by (field; lra).
    unfold of_u. lra. }
  apply (Rmult_le_compat_l (f_ * eta ^ 2 * L * of_u)) in SU; [| apply Rmult_le_pos; unfold of_u; lra].
  apply (Rmult_le_compat_l (f_ * eta ^ 2 * L * (1 + more) * q ^ 2)) in SZ;
    [| apply Rmult_le_pos; [apply Rmult_le_pos; lra | apply pow2_ge_0]].
  assert (N : - (f_ / L * (1 - kappa)) * Su + f_ * eta * INR n * Su
    + f_ * eta ^ 2 * L * of_u * (INR n * (INR n - 1) / 2 * Su) <= 0).
  { set (h := INR n * eta * L).
    assert (H : 0 <= h <= 1 / 6).
    { split; [apply Rmult_le_pos; [apply Rmult_le_pos; [apply pos_INR |] |]; lra |].
      apply (Rmult_le_compat_r L) in small; [| lra]. unfold h.
      replace (1 / 6) with (1 / (6 * L) * L) by (field; lra). exact small. }
    assert (H2 : h ^ 2 <= 1 / 36) by nra. apply (Rmult_le_compat_l of_u) in H2; [| unfold of_u; lra].
    replace (- (f_ / L * (1 - kappa)) * Su + f_ * eta * INR n * Su
        + f_ * eta ^ 2 * L * of_u * (INR n * (INR n - 1) / 2 * Su))
      with (- (f_ / L * Su * (1 - kappa - h - of_u * h ^ 2 / 2 + of_u * (h * (eta * L)) / 2)))
      by (unfold h; field; lra).
    assert (0 <= f_ / L * Su).
    { apply Rmult_le_pos; [apply Rlt_le, Rdiv_lt_0_compat; lra | apply sum_least; intros; apply square]. }
    assert (0 <= of_u * (h * (eta * L))).
    { apply Rmult_le_pos; [unfold of_u; lra |]. apply Rmult_le_pos; [lra | apply Rmult_le_pos; lra]. }
    assert (0 <= f_ / L * Su * (1 - kappa - h - of_u * h ^ 2 / 2 + of_u * (h * (eta * L)) / 2))
      by (apply Rmult_le_pos; lra).
    lra. }
  lra.
Qed.
End Young.
End Steps.
