(* The objective, the average of the models, and how a bound on one round becomes a bound on a run. *)
Require Import Reals Lra Lia.
Require Import rules chance.
Open Scope R_scope.

(* F, the mean of the clients' functions *)
Definition objective {V : Inner} M (F : nat -> V -> R) (x : V) : R := sum M (fun m => F m x) / INR M.
Definition mean {V : Inner} n (x : nat -> V) : V := scale (/ INR n) (vsum n x).
Definition weighted_mean {V : Inner} (w : nat -> R) n (x : nat -> V) : V :=
  scale (/ sum n w) (vsum n (fun t => scale (w t) (x t))).

(* Assumption 3b: the clients' gradients at x*, squared, are zeta_*^2 in the mean *)
Definition heterogeneity {V : Inner} M (gradF : nat -> V -> V) (xstar : V) : R :=
  sum M (fun m => sq (gradF m xstar)) / INR M.

(* x^(0), ..., x^(R): round r makes x^(r+1) of all models so far *)
Definition run {V : Inner} (x0 : V) (round : nat -> (nat -> V) -> Dist V) (R : nat) : Dist (nat -> V) :=
  loop zero (fun t xs => match t with O => ret x0 | S r => round r xs end) (S R).

Section Objective.
Context {V : Inner}.
Variables (M : nat) (F : nat -> V -> R) (gradF : nat -> V -> V).
Hypothesis some : (0 < M)%nat.

Definition grad_objective (x : V) : V := mean M (fun m => gradF m x).
Lemma ip_mean (x : nat -> V) z : ip (mean M x) z = sum M (fun m => ip (x m) z) / INR M.
Proof. unfold mean. products. rewrite ip_vsum. unfold Rdiv. ring. Qed.

Lemma objective_tangent : (forall m, (m < M)%nat -> tangent (F m) (gradF m) 0) ->
  tangent (objective M F) grad_objective 0.
Proof.
  intros T x y. apply lt_0_INR in some. apply Rle_ge. unfold objective, grad_objective. rewrite ip_mean.
  apply Rmult_le_reg_r with (INR M); [exact some |].
  replace ((sum M (fun m => F m x) / INR M + sum M (fun m => ip (gradF m x) (sub y x)) / INR M + 0 / 2 * sq (sub y x))
    * INR M)
    with (sum M (fun m => F m x) + sum M (fun m => ip (gradF m x) (sub y x))) by (field; lra).
  replace (sum M (fun m => F m y) / INR M * INR M) with (sum M (fun m => F m y)) by (field; lra).
  rewrite <- sum_add. apply sum_le; intros m I. specialize (T m I x y). lra.
Qed.
Lemma objective_smooth L : (forall m, (m < M)%nat -> smooth_above (F m) (gradF m) L) ->
  smooth_above (objective M F) grad_objective L.
Proof.
  intros T x y. apply lt_0_INR in some. unfold objective, grad_objective. rewrite ip_mean.
  apply Rmult_le_reg_r with (INR M); [exact some |].
  replace ((sum M (fun m => F m x) / INR M + sum M (fun m => ip (gradF m x) (sub y x)) / INR M + L / 2 * sq (sub y x))
    * INR M)
    with (sum M (fun m => F m x) + sum M (fun m => ip (gradF m x) (sub y x)) + INR M * (L / 2 * sq (sub y x))) by
      (field; lra).
  replace (sum M (fun m => F m y) / INR M * INR M) with (sum M (fun m => F m y)) by (field; lra).
  rewrite <- sum_const, <- !sum_add. apply sum_le; intros m I. exact (T m I x y).
Qed.
(* STATIONARY: the clients' gradients at the minimiser add up to zero *)
Lemma balanced L xstar :
  0 < L -> (forall m, (m < M)%nat -> smooth_above (F m) (gradF m) L) ->
  (forall x, objective M F xstar <= objective M F x) ->
  forall z, sum M (fun m => ip (gradF m xstar) z) = 0.
Proof.
  intros P S B z. pose proof (stationary _ _ L xstar z P (objective_smooth L S) B) as Z.
  unfold grad_objective in Z. rewrite ip_mean in Z. apply lt_0_INR in some.
  replace (sum M (fun m => ip (gradF m xstar) z)) with (sum M (fun m => ip (gradF m xstar) z) / INR M * INR M) by
    (field; lra).
  rewrite Z. ring.
Qed.
End Objective.

Section Run.
Context {V : Inner}.
Variables (x0 xstar : V) (round : nat -> (nat -> V) -> Dist V) (f : V -> R) (grad : V -> V) (rho progress errors : R).
Hypothesis rho_positive : 0 < rho.
Hypothesis progress_positive : 0 < progress.
Hypothesis convex : tangent f grad 0.
Hypothesis one_round : forall r xs,
  E (round r xs) (fun y => sq (sub y xstar)) <= rho * sq (sub (xs r) xstar) - progress * (f (xs r) - f xstar) + errors.

Lemma known_at t (h : V -> R) : known (S t) (fun xs : nat -> V => h (xs t)).
Proof. intros d e H. now rewrite H by lia. Qed.

(* the gap of a weighted average of x^(0), ..., x^(R) *)
Lemma average_bound R (average : (nat -> V) -> V) :
  let w t := / rho ^ S t in
  (forall xs z, ip (average xs) z = ip (vsum (S R) (fun t => scale (w t) (xs t))) z / sum (S R) w) ->
  E (run x0 round R) (fun xs => f (average xs)) - f xstar <= (sq (sub x0 xstar) / sum (S R) w + errors) / progress.
Proof.
  intros w M. set (next := fun t xs => match t with O => ret x0 | S r => round r xs end).
  set (dist t := E (loop zero next (S (S R))) (fun xs => sq (sub (xs t) xstar))).
  set (gap t := E (loop zero next (S (S R))) (fun xs => f (xs t) - f xstar)).
  assert (A : sum (S R) (fun t => w t * gap t) / sum (S R) w <= (dist O / sum (S R) w + errors) / progress).
  { apply (telescope dist gap rho progress errors (S R));
      [lia | exact rho_positive | exact progress_positive | apply E_least; intro; apply square |].
    intros t I. unfold dist, gap.
    rewrite (E_earlier _ _ (S (S t)) (S (S R)) _ (known_at (S t) (fun y => sq (sub y xstar)))) by lia.
    rewrite (E_earlier _ _ (S t) (S (S R)) _ (known_at t (fun y => sq (sub y xstar)))) by lia.
    rewrite (E_earlier _ _ (S t) (S (S R)) _ (known_at t (fun y => f y - f xstar))) by lia.
    rewrite E_next, <- !E_scale, <- E_sub, <- (E_const (loop zero next (S t)) errors), <- E_add.
    apply E_le; intro xs. eapply Rle_trans; [| apply one_round]. apply Req_le, E_ext; intro y. now rewrite set_at. }
  assert (D : dist O = sq (sub x0 xstar)).
  { unfold dist. rewrite (E_earlier _ _ 1 (S (S R)) _ (known_at 0 (fun y => sq (sub y xstar)))) by lia.
    rewrite E_next. simpl loop. rewrite E_ret. unfold next. rewrite E_ret, set_at. reflexivity. }
  rewrite D in A. eapply Rle_trans; [| exact A].
  assert (W : forall t, 0 < w t) by (intro; apply Rinv_0_lt_compat; now apply pow_lt).
  assert (P : 0 < sum (S R) w).
  { eapply Rlt_le_trans; [exact (W O) |]. apply (one_of_sum (S R) 0 w); [intros; apply Rlt_le, W | lia]. }
  rewrite (sum_ext (S R) _ (fun t => E (loop zero next (S (S R))) (fun xs => w t * (f (xs t) - f xstar))))
    by (intros; unfold gap; now rewrite E_scale).
  unfold Rdiv. rewrite <- E_sum, Rmult_comm, <- E_scale.
  rewrite (E_earlier _ _ (S R) (S (S R))); [| | lia].
  2:{ intros d e H. f_equal. apply sum_ext; intros i I. now rewrite H. }
  rewrite <- (E_const (run x0 round R) (f xstar)), <- E_sub. unfold run. fold next. apply E_le; intro xs.
  pose proof (jensen_of_average f grad (S R) w xs (average xs) (fun t _ => Rlt_le _ _ (W t)) P convex (M xs)) as J.
  rewrite E_const, (sum_ext (S R) (fun t => w t * (f (xs t) - f xstar)) (fun t => w t * f (xs t) - f xstar * w t))
    by (intros; ring).
  rewrite sum_sub, sum_scale.
  replace (/ sum (S R) w * (sum (S R) (fun t => w t * f (xs t)) - f xstar * sum (S R) w))
    with (sum (S R) (fun t => w t * f (xs t)) / sum (S R) w - f xstar) by (field; lra).
  lra.
Qed.

(* Lemma 7: weights (1 - a)^-(t+1); `times` is 1 / (1 - exp (- a (R+1))) at least *)
Lemma weighted_run_bound a times R w :
  rho = 1 - a -> 0 < a < 1 -> 1 < times -> exp (- a * INR (S R)) <= 1 - 1 / times ->
  (forall t, w t = / rho ^ S t) ->
  E (run x0 round R) (fun xs => f (weighted_mean w (S R) xs)) - f xstar
  <= (times * a * sq (sub x0 xstar) * exp (- a * INR (S R)) + errors) / progress.
Proof.
  intros one U T E_ W. eapply Rle_trans.
  - apply average_bound. intros xs z. unfold weighted_mean.
    rewrite ip_scale, !ip_vsum, (sum_ext (S R) w _ (fun t _ => W t)). unfold Rdiv.
    rewrite Rmult_comm. f_equal. apply sum_ext; intros. now rewrite W.
  - rewrite one, sum_of_weights by exact U. apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat, progress_positive |].
    apply Rplus_le_compat_r. pose proof (decayed a (S R) ltac:(lra)) as D. set (p := (1 - a) ^ S R) in *.
    assert (P : 0 < p) by (apply pow_lt; lra). set (e := exp (- a * INR (S R))) in *.
    assert (I : 0 < 1 / times) by (apply Rdiv_lt_0_compat; lra). pose proof (square (sub x0 xstar)).
    replace (sq (sub x0 xstar) / ((/ p - 1) / a)) with (a * sq (sub x0 xstar) * (p * / (1 - p))) by (field; lra).
    replace (times * a * sq (sub x0 xstar) * e) with (a * sq (sub x0 xstar) * (e * times)) by ring.
    apply Rmult_le_compat_l; [apply Rmult_le_pos; lra |].
    apply Rmult_le_compat; [lra | apply Rlt_le, Rinv_0_lt_compat; lra | lra |].
    replace times with (/ (1 / times)) by (field; lra). apply Rinv_le_contravar; lra.
Qed.
End Run.

(* Lemma 8: all weights are 1 *)
Lemma run_bound {V : Inner} (x0 xstar : V) round f grad progress errors R :
  0 < progress -> tangent f grad 0 ->
  (forall r xs, E (round r xs) (fun y => sq (sub y xstar))
    <= sq (sub (xs r) xstar) - progress * (f (xs r) - f xstar) + errors) ->
  E (run x0 round R) (fun xs => f (mean (S R) xs)) - f xstar <= (sq (sub x0 xstar) / INR (S R) + errors) / progress.
Proof.
  intros P T H. assert (W : forall t, / 1 ^ S t = 1) by (intro; rewrite pow1; apply Rinv_1).
  assert (N : sum (S R) (fun t => / 1 ^ S t) = INR (S R)).
  { rewrite (sum_ext _ _ (fun _ => 1)) by (intros; apply W). rewrite sum_const. ring. }
  rewrite <- N. apply (average_bound x0 xstar round f grad 1 progress errors Rlt_0_1 P T).
  - intros r xs. rewrite Rmult_1_l. apply H.
  - intros xs z. rewrite N, ip_mean, ip_vsum. f_equal. apply sum_ext; intros. rewrite ip_scale, W. ring.
Qed.

(* exp (- 1 / 2) <= 1 - 125 / 318, by five terms of the series of exp (1 / 2) *)
Lemma half_decayed a n : 1 / 2 <= a * n -> exp (- a * n) <= 1 - 1 / (318 / 125).
Proof.
  intro H. apply Rle_trans with (exp (- (1 / 2))); [apply exp_grows; lra |].
  pose proof (exp_series (1 / 2) 4 ltac:(lra)) as S.
  simpl in S. rewrite exp_Ropp. replace (1 - 1 / (318 / 125)) with (/ (318 / 193)) by field.
  apply Rinv_le_contravar; lra.
Qed.
(* what the step sizes allow: a contraction, and 1 / 2 at least over all rounds *)
Lemma rate_small mu L eta_tilde rounds :
  0 < mu -> mu <= L -> 0 < eta_tilde -> eta_tilde <= 1 / (6 * L) -> 1 <= rounds -> 1 / (mu * rounds) <= eta_tilde ->
  0 < mu * eta_tilde / 2 < 1 /\ 1 / 2 <= mu * eta_tilde / 2 * (rounds + 1).
Proof.
  intros P F T S R0 H. assert (Q : 0 < mu * eta_tilde) by (now apply Rmult_lt_0_compat).
  apply (Rmult_le_compat_l mu) in S; [| lra]. assert (mu * (1 / (6 * L)) <= 1 / 6).
  { replace (1 / 6) with (L * (1 / (6 * L))) by (field; lra). apply Rmult_le_compat_r; [| exact F].
    apply Rlt_le, Rdiv_lt_0_compat; lra. }
  apply (Rmult_le_compat_l (mu * rounds)) in H; [| apply Rmult_le_pos; lra].
  replace (mu * rounds * (1 / (mu * rounds))) with 1 in H by (field; lra). lra.
Qed.
