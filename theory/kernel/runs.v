(* The objective, the average of the models, and how a bound on one round becomes a bound on a run. *)
Require Import Reals Lra Lia.
Require Import rules chance.
Open Scope R_scope.

(* F, the mean of the clients' functions *)
Definition objective {V : Inner} M (F : nat -> V -> R) (x : V) : R := sum M (fun m => F m x) / INR M.
Definition mean {V : Inner} n (x : nat -> V) : V := scale (/ INR n) (vsum n x).

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
Variables (x0 xstar : V) (round : nat -> (nat -> V) -> Dist V) (f : V -> R) (grad : V -> V) (progress errors : R).
Hypothesis progress_positive : 0 < progress.
Hypothesis one_round : forall r xs,
  E (round r xs) (fun y => sq (sub y xstar)) <= sq (sub (xs r) xstar) - progress * (f (xs r) - f xstar) + errors.

Lemma known_at t (h : V -> R) : known (S t) (fun xs : nat -> V => h (xs t)).
Proof. intros d e H. now rewrite H by lia. Qed.

(* Lemma 8, for the gap of the mean of x^(0), ..., x^(R) *)
Lemma run_bound R :
  tangent f grad 0 ->
  E (run x0 round R) (fun xs => f (mean (S R) xs)) - f xstar <= (sq (sub x0 xstar) / INR (S R) + errors) / progress.
Proof.
  intro T. set (next := fun t xs => match t with O => ret x0 | S r => round r xs end).
  set (dist t := E (loop zero next (S (S R))) (fun xs => sq (sub (xs t) xstar))).
  set (gap t := E (loop zero next (S (S R))) (fun xs => f (xs t) - f xstar)).
  assert (A : sum (S R) gap / INR (S R) <= (dist O / INR (S R) + errors) / progress).
  { apply averaged; [lia | exact progress_positive | apply E_least; intro; apply square |].
    intros t I. unfold dist, gap.
    rewrite (E_earlier _ _ (S (S t)) (S (S R)) _ (known_at (S t) (fun y => sq (sub y xstar)))) by lia.
    rewrite (E_earlier _ _ (S t) (S (S R)) _ (known_at t (fun y => sq (sub y xstar)))) by lia.
    rewrite (E_earlier _ _ (S t) (S (S R)) _ (known_at t (fun y => f y - f xstar))) by lia.
    rewrite E_next, <- E_scale, <- E_sub, <- (E_const (loop zero next (S t)) errors), <- E_add.
    apply E_le; intro xs. eapply Rle_trans; [| apply one_round]. apply Req_le, E_ext; intro y. now rewrite set_at. }
  assert (D : dist O = sq (sub x0 xstar)).
  { unfold dist. rewrite (E_earlier _ _ 1 (S (S R)) _ (known_at 0 (fun y => sq (sub y xstar)))) by lia.
    rewrite E_next. simpl loop. rewrite E_ret. unfold next. rewrite E_ret, set_at. reflexivity. }
  rewrite D in A. eapply Rle_trans; [| exact A].
  assert (P : 0 < INR (S R)) by (apply lt_0_INR; lia).
  unfold gap, Rdiv. rewrite <- E_sum, Rmult_comm, <- E_scale.
  rewrite (E_earlier _ _ (S R) (S (S R))); [| | lia].
  2:{ intros d e H. f_equal. apply sum_ext; intros i I. now rewrite H. }
  rewrite <- (E_const (run x0 round R) (f xstar)), <- E_sub. unfold run. fold next. apply E_le; intro xs.
  rewrite sum_sub, sum_const, E_const.
  replace (/ INR (S R) * (sum (S R) (fun t => f (xs t)) - INR (S R) * f xstar))
    with (/ INR (S R) * sum (S R) (fun t => f (xs t)) - f xstar) by (field; lra).
  enough (f (mean (S R) xs) <= / INR (S R) * sum (S R) (fun t => f (xs t))) by lra.
  rewrite <- (sum_scale (S R) (/ INR (S R)) (fun t => f (xs t))).
  apply (jensen_of_function f grad (S R) (fun _ => / INR (S R))); [| | exact T |].
  - intros. apply Rlt_le, Rinv_0_lt_compat, P.
  - rewrite sum_const. field. lra.
  - intro z. rewrite ip_vsum, ip_mean. unfold Rdiv. rewrite Rmult_comm, <- sum_scale. apply sum_ext; intros;
    now rewrite ip_scale.
Qed.
End Run.
