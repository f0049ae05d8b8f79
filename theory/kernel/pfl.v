(* Theorem 2 of SFL, general convex, with our constants (sfl.thm2.general_convex.sharp), about Algorithm 2 itself.

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
  set (h := 61 / 177 * L * eta_tilde ^ 3 * (1 - 1 / INR K) * (1 - 1 / (2 * INR K))).
  set (e := eta_tilde ^ 2 * sigma ^ 2 / (INR K * INR M)
        + 61 / 118 * L * eta_tilde ^ 3 * sigma ^ 2 * (1 - 1 / INR K) * (1 - 1 / INR M) ^ 2 / INR K).
  assert (H : 0 <= h).
  { pose proof (one_less _ K0). pose proof (one_less (2 * INR K) ltac:(lra)).
    unfold h. repeat apply Rmult_le_pos; try assumption; lra. }
  pose proof (run_bound x0 xstar (pfl_round eta M K oracle) (objective M F) (grad_objective M gradF)
    (2 * eta_tilde) (e + h * zeta_star ^ 2)) as B.
  eapply Rle_trans; [apply B |].
  - lra.
  - intros r xs. unfold pfl_round. rewrite E_bind.
    rewrite (E_ext _ _ (fun g => sq (sub (next_model M K eta (xs r) g) xstar)))
      by (intro; exact (E_ret _ (fun y => sq (sub y xstar)))).
    pose proof (one_round M K F gradF (oracle r xs) L sigma eta (xs r) xstar ltac:(lia) ltac:(lia) L0 eta0 smooth convex
      minimiser (noisy r xs) when) as O. cbv zeta in O. fold eta_tilde in O.
    eapply Rle_trans; [exact O |]. apply (Rmult_le_compat_l h) in het; [| exact H]. unfold e, h in *. lra.
  - apply objective_tangent; [lia | exact convex].
  - apply Req_le. unfold thm2_general_convex_sharp, e, h, D. rewrite S_INR, norm_squared. field.
    assert (0 <= INR rounds) by apply pos_INR. lra.
Qed.
