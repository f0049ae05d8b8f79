(* Theorem 2 of SFL with our constants, about Algorithm 2 itself: general convex (sfl.thm2.general_convex.sharp) and
   strongly convex (sfl.thm2.strongly_convex.sharp).

   V        any space with an inner product
   F, gradF the clients' functions and their gradients
   oracle   oracle r xs m d k is how client m draws its stochastic gradient in step k of round r.  It may depend on all
            models xs so far and on the client's own gradients d so far in this round. *)
Require Import Reals Lra Lia.
Require Import rules chance steps runs bounds parallel.
Open Scope R_scope.

(* Algorithm 2, lines 2 to 6: x_(m,0) = x^(r), x_(m,k+1) = x_(m,k) - eta g_(m,k), x^(r+1) = (1/M) sum_m x_(m,K).
   `point` is x_(m,k), `g m k` the stochastic gradient at it. *)
Definition pfl_round {V : Inner} (eta : R) (M K : nat) (oracle : nat -> (nat -> V) -> nat -> nat -> (nat -> V) -> Dist V)
  (r : nat) (xs : nat -> V) : Dist V :=
  g <- independently (fun _ => zero) (fun m => loop zero (oracle r xs m) K) M;
  ret (mean M (fun m => point eta (xs r) (g m) K)).

Definition pfl {V : Inner} (eta : R) (M K : nat) oracle (x0 : V) (R : nat) : Dist (nat -> V) :=
  run x0 (pfl_round eta M K oracle) R.

Definition norm {V : Inner} (x : V) : R := sqrt (sq x).
Lemma norm_squared {V : Inner} (x : V) : norm x ^ 2 = sq x.
Proof. unfold norm. simpl. rewrite Rmult_1_r. apply sqrt_sqrt, square. Qed.

Lemma one_less a : 1 <= a -> 0 <= 1 - 1 / a.
Proof.
  intro A. pose proof (Rinv_le_contravar 1 a ltac:(lra) A) as I. rewrite Rinv_1 in I. unfold Rdiv. lra.
Qed.

(* the model after a round *)
Lemma after_round {V : Inner} eta M K oracle r (xs : nat -> V) (xstar : V) :
  E (pfl_round eta M K oracle r xs) (fun y => sq (sub y xstar))
  = E (draws M K (oracle r xs)) (fun g => sq (sub (next_model M K eta (xs r) g) xstar)).
Proof. unfold pfl_round. rewrite E_bind. apply E_ext; intro. exact (E_ret _ (fun y => sq (sub y xstar))). Qed.

(* what heterogeneity counts for in a round *)
Lemma factor_least K L eta_tilde rho : 1 <= K -> 0 < L -> 0 < eta_tilde -> 0 < rho ->
  0 <= (1 + rho) / 3 * L * eta_tilde ^ 3 * (1 - 1 / K) * (1 - 1 / (2 * K)).
Proof.
  intros A B T P. pose proof (one_less _ A). pose proof (one_less (2 * K) ltac:(lra)).
  repeat apply Rmult_le_pos; try assumption; lra.
Qed.

Theorem general_convex :
  forall (V : Inner) (M K rounds : nat) (F : nat -> V -> R) (gradF : nat -> V -> V)
    (L sigma zeta_star eta : R) (x0 xstar : V) (oracle : nat -> (nat -> V) -> nat -> nat -> (nat -> V) -> Dist V),
  (1 <= M)%nat -> (1 <= K)%nat -> 0 < L -> 0 < eta ->
  (forall m, (m < M)%nat -> smooth_above (F m) (gradF m) L) ->
  (forall m, (m < M)%nat -> tangent (F m) (gradF m) 0) ->
  (forall x, objective M F xstar <= objective M F x) ->
  heterogeneity M gradF xstar <= zeta_star ^ 2 ->
  (forall r xs m k d, (m < M)%nat -> (k < K)%nat ->
    stochastic_gradient (oracle r xs m k d) (gradF m (point eta (xs r) d k)) sigma) ->
  let eta_tilde := INR K * eta in
  let D := norm (sub x0 xstar) in
  thm2_general_convex_sharp_when D (INR K) L (INR M) (INR rounds) eta_tilde sigma zeta_star ->
  E (pfl eta M K oracle x0 rounds) (fun xs => objective M F (mean (S rounds) xs)) - objective M F xstar
  <= thm2_general_convex_sharp D (INR K) L (INR M) (INR rounds) eta_tilde sigma zeta_star.
Proof.
  intros V M K rounds F gradF L sigma zeta_star eta x0 xstar oracle M1 K1 L0 eta0 smooth convex minimiser het noisy
    eta_tilde D when.
  unfold thm2_general_convex_sharp_when in when.
  assert (M0 : 1 <= INR M) by (apply (le_INR 1); lia). assert (K0 : 1 <= INR K) by (apply (le_INR 1); lia).
  assert (T : 0 < eta_tilde) by (apply Rmult_lt_0_compat; lra).
  set (h := (1 + 2 / 59) / 3 * L * eta_tilde ^ 3 * (1 - 1 / INR K) * (1 - 1 / (2 * INR K))).
  set (e := eta_tilde ^ 2 * sigma ^ 2 / (INR K * INR M)
        + 61 / 118 * L * eta_tilde ^ 3 * sigma ^ 2 * (1 - 1 / INR K) * (1 - 1 / INR M) ^ 2 / INR K).
  assert (H : 0 <= h) by (apply factor_least; lra).
  pose proof (run_bound x0 xstar (pfl_round eta M K oracle) (objective M F) (grad_objective M gradF)
    (2 * eta_tilde) (e + h * zeta_star ^ 2)) as B.
  eapply Rle_trans; [apply B |].
  - lra.
  - apply objective_tangent; [lia | exact convex].
  - intros r xs. rewrite after_round.
    pose proof (one_round M K F gradF (oracle r xs) L 0 0 sigma eta (2 / 59) (59 / 2) (xs r) xstar ltac:(lia) ltac:(lia)
      L0 eta0 smooth convex ltac:(lra) ltac:(lra) ltac:(lra) minimiser (noisy r xs) when ltac:(lra)) as O.
    cbv zeta in O. fold eta_tilde in O.
    eapply Rle_trans; [exact O |]. apply (Rmult_le_compat_l h) in het; [| exact H]. unfold e, h in *. lra.
  - apply Req_le. unfold thm2_general_convex_sharp, e, h, D. rewrite S_INR, norm_squared. field.
    assert (0 <= INR rounds) by apply pos_INR. lra.
Qed.

Theorem strongly_convex :
  forall (V : Inner) (M K rounds : nat) (F : nat -> V -> R) (gradF : nat -> V -> V)
    (L mu sigma zeta_star eta : R) (x0 xstar : V) (oracle : nat -> (nat -> V) -> nat -> nat -> (nat -> V) -> Dist V),
  (1 <= M)%nat -> (1 <= K)%nat -> (1 <= rounds)%nat -> 0 < L -> 0 < mu -> 0 < eta ->
  (forall m, (m < M)%nat -> smooth_above (F m) (gradF m) L) ->
  (forall m, (m < M)%nat -> tangent (F m) (gradF m) mu) ->
  (forall x, objective M F xstar <= objective M F x) ->
  heterogeneity M gradF xstar <= zeta_star ^ 2 ->
  (forall r xs m k d, (m < M)%nat -> (k < K)%nat ->
    stochastic_gradient (oracle r xs m k d) (gradF m (point eta (xs r) d k)) sigma) ->
  let eta_tilde := INR K * eta in
  let D := norm (sub x0 xstar) in
  let weight := thm2_strongly_convex_sharp_weight eta_tilde mu in
  thm2_strongly_convex_sharp_when D (INR K) L (INR M) (INR rounds) eta_tilde mu sigma zeta_star ->
  E (pfl eta M K oracle x0 rounds) (fun xs => objective M F (weighted_mean weight (S rounds) xs)) - objective M F xstar
  <= thm2_strongly_convex_sharp D (INR K) L (INR M) (INR rounds) eta_tilde mu sigma zeta_star.
Proof.
  intros V M K rounds F gradF L mu sigma zeta_star eta x0 xstar oracle M1 K1 R1 L0 mu0 eta0 smooth convex minimiser het
    noisy eta_tilde D weight [long [when flat]].
  assert (M0 : 1 <= INR M) by (apply (le_INR 1); lia). assert (K0 : 1 <= INR K) by (apply (le_INR 1); lia).
  assert (R0 : 1 <= INR rounds) by (apply (le_INR 1); lia).
  assert (T : 0 < eta_tilde) by (apply Rmult_lt_0_compat; lra).
  destruct (rate_small mu L eta_tilde (INR rounds) mu0 flat T when R0 long) as [small last].
  set (h := (1 + 1 / 10) / 3 * L * eta_tilde ^ 3 * (1 - 1 / INR K) * (1 - 1 / (2 * INR K))).
  set (e := eta_tilde ^ 2 * sigma ^ 2 / (INR K * INR M)
        + 5 / 9 * L * eta_tilde ^ 3 * sigma ^ 2 * (1 - 1 / INR K) * (1 - 1 / INR M) ^ 2 / INR K).
  assert (H : 0 <= h) by (apply factor_least; lra).
  pose proof (weighted_run_bound x0 xstar (pfl_round eta M K oracle) (objective M F) (grad_objective M gradF)
    (1 - mu * eta_tilde / 2) (2 * eta_tilde) (e + h * zeta_star ^ 2)) as B.
  eapply Rle_trans; [apply (B ltac:(lra) ltac:(lra)) with (a := mu * eta_tilde / 2) (times := 318 / 125) |].
  - apply objective_tangent; [lia |]. intros m I. now apply (tangent_plain _ _ mu); [lra | apply convex].
  - intros r xs. rewrite after_round.
    pose proof (one_round M K F gradF (oracle r xs) L mu (5 / 9) sigma eta (1 / 10) 9 (xs r) xstar ltac:(lia) ltac:(lia)
      L0 eta0 smooth convex ltac:(lra) ltac:(lra) ltac:(lra) minimiser (noisy r xs) when ltac:(lra)) as O.
    cbv zeta in O. fold eta_tilde in O.
    eapply Rle_trans; [exact O |]. apply (Rmult_le_compat_l h) in het; [| exact H]. unfold e, h in *. lra.
  - reflexivity.
  - lra.
  - lra.
  - apply half_decayed. rewrite S_INR. exact last.
  - reflexivity.
  - apply Req_le. unfold thm2_strongly_convex_sharp, e, h, D. rewrite S_INR, norm_squared.
    replace (- (mu * eta_tilde / 2) * (INR rounds + 1)) with ((- mu) * eta_tilde * (1 + INR rounds) / 2) by field.
    field. lra.
Qed.
