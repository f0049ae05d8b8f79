(* Theorem 1 of SFL with our constants, about Algorithm 1 itself: general convex (sfl.thm1.general_convex.sharp) and
   strongly convex (sfl.thm1.strongly_convex.sharp).

   V        any space with an inner product
   F, gradF the clients' functions and their gradients
   oracle   oracle r xs pi t d is how the client nth (t / K) pi draws its stochastic gradient in step t mod K of its
            turn in round r.  It may depend on all models xs so far, on the order pi, and on all gradients d so far in
            this round. *)
Require Import Reals Lra Lia List Permutation.
Require Import rules chance order steps runs bounds sequential.
Require pfl.
Open Scope R_scope.

(* Algorithm 1, lines 2 to 7: a random order pi of the clients; x_(m,0) = x_(m-1,K), x_(m,k+1) = x_(m,k) - eta g_(pi_m,k);
   x^(r+1) = x_(M,K).  `point` is x_(m,k) for t = m K + k, `g t` the stochastic gradient at it. *)
Definition sfl_round {V : Inner} (eta : R) (M K : nat)
  (oracle : nat -> (nat -> V) -> list nat -> nat -> (nat -> V) -> Dist V) (r : nat) (xs : nat -> V) : Dist V :=
  pi <- permutation M;
  g <- loop zero (oracle r xs pi) (M * K);
  ret (point eta (xs r) g (M * K)).

Definition sfl {V : Inner} (eta : R) (M K : nat) oracle (x0 : V) (R : nat) : Dist (nat -> V) :=
  run x0 (sfl_round eta M K oracle) R.

(* An order of the clients, position by position *)
Section Positions.
Variables (M : nat) (pi : list nat).
Hypothesis order_of_all : Permutation pi (seq 0 M).
Lemma long : length pi = M.
Proof. rewrite (Permutation_length order_of_all). apply seq_length. Qed.
Lemma each_client p : (p < M)%nat -> (nth p pi 0 < M)%nat.
Proof.
  intro P. rewrite <- long in P. apply (nth_In pi O) in P. apply (Permutation_in _ order_of_all), in_seq in P. lia.
Qed.
Lemma all_clients f : sum M (fun p => f (nth p pi 0%nat)) = sum M f.
Proof.
  rewrite <- (lsum_seq M f), <- (lsum_permutation _ _ f order_of_all), <- (lsum_nth pi O f). now rewrite long.
Qed.
Lemma squares_along {V : Inner} (s : nat -> V) :
  sum M (fun p => sq (vsum p (fun i => s (nth i pi 0%nat)))) = squares s zero pi.
Proof.
  rewrite (squares_at s O), long. apply sum_ext; intros p _. apply sq_same. intro z. products. ring.
Qed.
Lemma crossed_along {V : Inner} (s v : nat -> V) :
  sum M (fun p => ip (v (nth p pi 0%nat)) (vsum p (fun i => s (nth i pi 0%nat)))) = crossed s v zero pi.
Proof. rewrite (crossed_at s v O), long. apply sum_ext; intros p _. products. ring. Qed.
End Positions.

Section Round.
Context {V : Inner}.
Variables (M K : nat) (F : nat -> V -> R) (gradF : nat -> V -> V) (next : list nat -> nat -> (nat -> V) -> Dist V).
Variables (L sigma eta : R) (x xstar : V).
Hypothesis clients : (0 < M)%nat.
Hypothesis steps_ : (0 < K)%nat.
Hypothesis L_positive : 0 < L.
Hypothesis eta_positive : 0 < eta.
Hypothesis smooth : forall m, (m < M)%nat -> smooth_above (F m) (gradF m) L.
Hypothesis convex : forall m, (m < M)%nat -> tangent (F m) (gradF m) 0.
Hypothesis minimiser : forall y, objective M F xstar <= objective M F y.
Hypothesis noisy : forall pi t d, Permutation pi (seq 0 M) -> (t < M * K)%nat ->
  stochastic_gradient (next pi t d) (gradF (nth (t / K) pi 0%nat) (point eta x d t)) sigma.
Hypothesis small : INR M * INR K * eta <= 1 / (6 * L).
Local Notation k_ := (INR K).
Local Notation s := (s gradF xstar).
Local Notation v := (v gradF x xstar).

(* the means over the random order: the gradients at x* add up to zero *)
Lemma balance z : ip (lvsum (seq 0 M) s) z = 0.
Proof. rewrite ip_lvsum, lsum_seq. exact (balanced M F gradF clients L xstar L_positive smooth minimiser z). Qed.
Lemma mean_squares : E (permutation M) (squares s zero) = (INR M + 1) / 6 * sum M (fun m => sq (s m)).
Proof.
  unfold permutation. rewrite E_squares by apply seq_length. unfold sq at 1 2. rewrite balance, lsum_seq. products. ring.
Qed.
Lemma mean_crossed (a : nat -> V) : E (permutation M) (crossed s a zero) = - / 2 * sum M (fun m => ip (a m) (s m)).
Proof.
  unfold permutation. rewrite E_crossed by apply seq_length.
  rewrite (ip_sym _ (lvsum _ s)), balance, lsum_seq. products. ring.
Qed.

(* each client's part, by its least value over the gradient at x *)
Lemma least m :
  - (22 / 57) * sq (v m) + 16 / 19 * (eta * L) * (- / 2 * ip (v m) (s m)) <= 24 / 209 * (eta * L) ^ 2 * sq (s m).
Proof.
  pose proof (square (add (v m) (scale (12 / 11 * (eta * L) / 2) (s m)))) as P.
  unfold sq in *. products_in P. rewrite (ip_sym (s m) (v m)) in P. lra.
Qed.

Lemma one_round :
  let eta_tilde := INR M * k_ * eta in
  E (pi <- permutation M; g <- loop zero (next pi) (M * K); ret (point eta x g (M * K))) (fun y => sq (sub y xstar))
  <= sq (sub x xstar) - 2 * eta_tilde * (objective M F x - objective M F xstar)
     + (eta_tilde ^ 2 * sigma ^ 2 / (k_ * INR M)
        + 2 * L * eta_tilde ^ 3 * heterogeneity M gradF xstar * (11 + 23 / (k_ ^ 2 * INR M)) / (209 * INR M)).
Proof.
  intro eta_tilde. pose proof (lt_0_INR M clients) as M0. pose proof (lt_0_INR K steps_) as K0.
  set (Q := sum M (fun m => sq (s m))). set (X := sum M (fun m => ip (v m) (s m))). set (W := sum M (fun m => sq (v m))).
  set (G := sum M (fun m => F m x - F m xstar)).
  rewrite E_bind. eapply Rle_trans.
  - apply (E_sure_le _ _ _ (fun pi => (sq (sub x xstar) - 2 * (eta * k_) * G + eta ^ 2 * (INR (M * K) * sigma ^ 2)
      + eta / L * (- (22 / 57) * (k_ * W) + 16 / 19 * (eta * L) * (k_ * (k_ - 1) / 2 * X)
          + 12 / 19 * (eta * L) ^ 2 * (k_ * (k_ - 1) * (2 * k_ - 1) / 6 * Q)))
      + (eta / L * (16 / 19 * (eta * L)) * k_ ^ 2 * crossed s v zero pi
      + (eta / L * (12 / 19 * (eta * L) ^ 2) * k_ ^ 3 * squares s zero pi
      + eta / L * (12 / 19 * (eta * L) ^ 2) * (k_ ^ 2 * (k_ - 1)) * crossed s s zero pi)))
      (order_sure M (seq 0 M) (seq_length M 0))).
    intros pi P. rewrite E_bind, (E_ext _ _ (fun d => sq (sub (point eta x d (M * K)) xstar)))
      by (intro; exact (E_ret _ (fun y => sq (sub y xstar)))).
    pose proof (given_order M K F gradF (fun p => nth p pi 0%nat) (next pi) L sigma eta x xstar clients steps_ L_positive
      eta_positive smooth convex minimiser (each_client M pi P) (all_clients M pi P) (fun t d T => noisy pi t d P T)
        small) as B.
    unfold squares_, crossed_ in B. rewrite (squares_along M pi P s), (crossed_along M pi P s v),
      (crossed_along M pi P s s) in B.
    fold Q X W G in B. unfold steps.steps in B. lra.
  - rewrite E_add, E_const, E_add, E_scale, E_add, !E_scale. fold (permutation M). rewrite mean_squares,
    !mean_crossed. fold Q X.
    replace (sum M (fun m => ip (s m) (s m))) with Q by reflexivity.
    assert (N : - (22 / 57) * W + 16 / 19 * (eta * L) * (- / 2 * X) <= 24 / 209 * (eta * L) ^ 2 * Q).
    { unfold W, X, Q. rewrite <- !sum_scale, <- !sum_add. apply sum_le; intros m _. apply least. }
    apply (Rmult_le_compat_l (eta / L * k_)) in N.
    2:{ apply Rmult_le_pos; [apply Rlt_le, Rdiv_lt_0_compat |]; lra. }
    unfold objective, heterogeneity. fold s. rewrite mult_INR. unfold G. rewrite sum_sub.
    set (SF := sum M (fun m => F m x)) in *. set (SX := sum M (fun m => F m xstar)) in *.
    change (sum M (fun m => sq (gradF m xstar))) with Q.
    replace (2 * eta_tilde * (SF / INR M - SX / INR M)) with (2 * (eta * k_) * (SF - SX)) by (unfold eta_tilde;
      field; lra).
    replace (eta_tilde ^ 2 * sigma ^ 2 / (k_ * INR M)) with (eta ^ 2 * (INR M * k_ * sigma ^ 2))
      by (unfold eta_tilde; field; lra).
    replace (2 * L * eta_tilde ^ 3 * (Q / INR M) * (11 + 23 / (k_ ^ 2 * INR M)) / (209 * INR M))
      with (eta / L * k_ * (24 / 209 * (eta * L) ^ 2 * Q) + eta / L * (12 / 19 * (eta * L) ^ 2) * (k_ ^ 3 * ((INR M +
        1) / 6 * Q)
        + k_ ^ 2 * (k_ - 1) * (- / 2 * Q) + k_ * (k_ - 1) * (2 * k_ - 1) / 6 * Q))
      by (unfold eta_tilde; field; lra).
    lra.
Qed.

(* strongly convex, with kappa = 21/40 and rho = 5/106 *)
Lemma one_round_strongly mu :
  (forall m, (m < M)%nat -> tangent (F m) (gradF m) mu) -> 0 <= mu <= L ->
  let eta_tilde := INR M * k_ * eta in
  E (pi <- permutation M; g <- loop zero (next pi) (M * K); ret (point eta x g (M * K))) (fun y => sq (sub y xstar))
  <= (1 - mu * eta_tilde / 2) * sq (sub x xstar) - 2 * eta_tilde * (objective M F x - objective M F xstar)
     + (eta_tilde ^ 2 * sigma ^ 2 / (k_ * INR M)
        + 37 / 212 * L * eta_tilde ^ 3 * heterogeneity M gradF xstar * (1 + 1 / (k_ ^ 2 * INR M)) / INR M).
Proof.
  intros curved flat eta_tilde. pose proof (lt_0_INR M clients) as M0. pose proof (lt_0_INR K steps_) as K0.
  set (Q := sum M (fun m => sq (s m))). set (G := sum M (fun m => F m x - F m xstar)). set (far := sub x xstar).
  assert (Z : sum M (fun m => ip far (s m)) = 0).
  { rewrite <- (balanced M F gradF clients L xstar L_positive smooth minimiser far). apply sum_ext; intros; apply ip_sym. }
  rewrite E_bind. eapply Rle_trans.
  - apply (E_sure_le _ _ _ (fun pi => (1 - eta * (21 / 40) * mu * (1 - 5 / 106) * INR (M * K)) * sq far
      - 2 * (eta * k_) * G + eta ^ 2 * (INR (M * K) * sigma ^ 2)
      + eta ^ 3 * L * (1 + 5 / 106) * (k_ * (k_ - 1) * (2 * k_ - 1) / 6 * Q)
      + (2 * eta ^ 2 * (21 / 40 * mu) * k_ ^ 2 * crossed s (fun _ => far) zero pi
      + (eta ^ 3 * L * (1 + 5 / 106) * k_ ^ 3 * squares s zero pi
      + eta ^ 3 * L * (1 + 5 / 106) * (k_ ^ 2 * (k_ - 1)) * crossed s s zero pi)))
      (order_sure M (seq 0 M) (seq_length M 0))).
    intros pi P. rewrite E_bind, (E_ext _ _ (fun d => sq (sub (point eta x d (M * K)) xstar)))
      by (intro; exact (E_ret _ (fun y => sq (sub y xstar)))).
    pose proof (given_order_strongly M K F gradF (fun p => nth p pi 0%nat) (next pi) L sigma eta x xstar clients steps_
      L_positive eta_positive smooth minimiser (each_client M pi P) (all_clients M pi P) (fun t d T => noisy pi t d P T)
      small mu (21 / 40) (5 / 106) curved flat ltac:(lra) ltac:(lra) ltac:(lra)) as B.
    unfold squares_, crossed_ in B. fold far in B. rewrite (squares_along M pi P s),
      (crossed_along M pi P s (fun _ => far)), (crossed_along M pi P s s), Z in B.
    fold Q G in B. unfold steps.steps in B. lra.
  - rewrite E_add, E_const, E_add, E_scale, E_add, !E_scale. fold (permutation M). rewrite mean_squares, !mean_crossed, Z.
    replace (sum M (fun m => ip (s m) (s m))) with Q by reflexivity. fold Q.
    assert (N : 0 <= mu * eta_tilde * sq far).
    { unfold eta_tilde. repeat apply Rmult_le_pos; try lra. apply square. }
    unfold objective, heterogeneity. rewrite mult_INR. unfold G. rewrite sum_sub.
    set (SF := sum M (fun m => F m x)) in *. set (SX := sum M (fun m => F m xstar)) in *.
    change (sum M (fun m => sq (gradF m xstar))) with Q.
    replace (2 * eta_tilde * (SF / INR M - SX / INR M)) with (2 * (eta * k_) * (SF - SX)) by (unfold eta_tilde;
      field; lra).
    replace (eta_tilde ^ 2 * sigma ^ 2 / (k_ * INR M)) with (eta ^ 2 * (INR M * k_ * sigma ^ 2))
      by (unfold eta_tilde; field; lra).
    replace (37 / 212 * L * eta_tilde ^ 3 * (Q / INR M) * (1 + 1 / (k_ ^ 2 * INR M)) / INR M)
      with (eta ^ 3 * L * (1 + 5 / 106) * (k_ ^ 3 * ((INR M + 1) / 6 * Q) + k_ ^ 2 * (k_ - 1) * (- / 2 * Q)
        + k_ * (k_ - 1) * (2 * k_ - 1) / 6 * Q))
      by (unfold eta_tilde; field; lra).
    replace (eta * (21 / 40) * mu * (1 - 5 / 106) * (INR M * k_)) with (2121 / 4240 * (mu * eta_tilde))
      by (unfold eta_tilde; field).
    lra.
Qed.
End Round.

Theorem general_convex :
  forall (V : Inner) (M K rounds : nat) (F : nat -> V -> R) (gradF : nat -> V -> V)
    (L sigma zeta_star eta : R) (x0 xstar : V) (oracle : nat -> (nat -> V) -> list nat -> nat -> (nat -> V) -> Dist V),
  (1 <= M)%nat -> (1 <= K)%nat -> 0 < L -> 0 < eta ->
  (forall m, (m < M)%nat -> smooth_above (F m) (gradF m) L) ->
  (forall m, (m < M)%nat -> tangent (F m) (gradF m) 0) ->
  (forall x, objective M F xstar <= objective M F x) ->
  heterogeneity M gradF xstar <= zeta_star ^ 2 ->
  (forall r xs pi t d, Permutation pi (seq 0 M) -> (t < M * K)%nat ->
    stochastic_gradient (oracle r xs pi t d) (gradF (nth (t / K) pi 0%nat) (point eta (xs r) d t)) sigma) ->
  let eta_tilde := INR M * INR K * eta in
  let D := pfl.norm (sub x0 xstar) in
  thm1_general_convex_sharp_when D (INR K) L (INR M) (INR rounds) eta_tilde sigma zeta_star ->
  E (sfl eta M K oracle x0 rounds) (fun xs => objective M F (mean (S rounds) xs)) - objective M F xstar
  <= thm1_general_convex_sharp D (INR K) L (INR M) (INR rounds) eta_tilde sigma zeta_star.
Proof.
  intros V M K rounds F gradF L sigma zeta_star eta x0 xstar oracle M1 K1 L0 eta0 smooth convex minimiser het noisy
    eta_tilde D when.
  unfold thm1_general_convex_sharp_when in when.
  assert (M0 : 1 <= INR M) by (apply (le_INR 1); lia). assert (K0 : 1 <= INR K) by (apply (le_INR 1); lia).
  assert (T : 0 < eta_tilde) by (repeat apply Rmult_lt_0_compat; lra).
  set (h := 2 * L * eta_tilde ^ 3 * (11 + 23 / (INR K ^ 2 * INR M)) / (209 * INR M)).
  set (e := eta_tilde ^ 2 * sigma ^ 2 / (INR K * INR M)).
  assert (H : 0 <= h).
  { assert (0 < eta_tilde ^ 3) by (now apply pow_lt). assert (0 < INR K ^ 2 * INR M) by (apply Rmult_lt_0_compat;
    [apply pow_lt |]; lra).
    assert (0 < 23 / (INR K ^ 2 * INR M)) by (apply Rdiv_lt_0_compat; lra).
    apply Rle_mult_inv_pos; [repeat apply Rmult_le_pos; lra | lra]. }
  pose proof (run_bound x0 xstar (sfl_round eta M K oracle) (objective M F) (grad_objective M gradF)
    (2 * eta_tilde) (e + h * zeta_star ^ 2)) as B.
  eapply Rle_trans; [apply B |].
  - lra.
  - apply objective_tangent; [lia | exact convex].
  - intros r xs.
    pose proof (one_round M K F gradF (oracle r xs) L sigma eta (xs r) xstar ltac:(lia) ltac:(lia) L0 eta0 smooth convex
      minimiser (noisy r xs) when) as O. cbv zeta in O. fold eta_tilde in O.
    eapply Rle_trans; [exact O |]. apply (Rmult_le_compat_l h) in het; [| exact H]. unfold e, h in *. lra.
  - apply Req_le. unfold thm1_general_convex_sharp, e, h, D. rewrite S_INR, pfl.norm_squared. field.
    assert (0 <= INR rounds) by apply pos_INR. lra.
Qed.

Theorem strongly_convex :
  forall (V : Inner) (M K rounds : nat) (F : nat -> V -> R) (gradF : nat -> V -> V)
    (L mu sigma zeta_star eta : R) (x0 xstar : V) (oracle : nat -> (nat -> V) -> list nat -> nat -> (nat -> V) -> Dist V),
  (1 <= M)%nat -> (1 <= K)%nat -> (1 <= rounds)%nat -> 0 < L -> 0 < mu -> 0 < eta ->
  (forall m, (m < M)%nat -> smooth_above (F m) (gradF m) L) ->
  (forall m, (m < M)%nat -> tangent (F m) (gradF m) mu) ->
  (forall x, objective M F xstar <= objective M F x) ->
  heterogeneity M gradF xstar <= zeta_star ^ 2 ->
  (forall r xs pi t d, Permutation pi (seq 0 M) -> (t < M * K)%nat ->
    stochastic_gradient (oracle r xs pi t d) (gradF (nth (t / K) pi 0%nat) (point eta (xs r) d t)) sigma) ->
  let eta_tilde := INR M * INR K * eta in
  let D := pfl.norm (sub x0 xstar) in
  let weight := thm1_strongly_convex_sharp_weight eta_tilde mu in
  thm1_strongly_convex_sharp_when D (INR K) L (INR M) (INR rounds) eta_tilde mu sigma zeta_star ->
  E (sfl eta M K oracle x0 rounds) (fun xs => objective M F (weighted_mean weight (S rounds) xs)) - objective M F xstar
  <= thm1_strongly_convex_sharp D (INR K) L (INR M) (INR rounds) eta_tilde mu sigma zeta_star.
Proof.
  intros V M K rounds F gradF L mu sigma zeta_star eta x0 xstar oracle M1 K1 R1 L0 mu0 eta0 smooth convex minimiser het
    noisy eta_tilde D weight [long [when flat]].
  assert (M0 : 1 <= INR M) by (apply (le_INR 1); lia). assert (K0 : 1 <= INR K) by (apply (le_INR 1); lia).
  assert (R0 : 1 <= INR rounds) by (apply (le_INR 1); lia).
  assert (T : 0 < eta_tilde) by (repeat apply Rmult_lt_0_compat; lra).
  destruct (rate_small mu L eta_tilde (INR rounds) mu0 flat T when R0 long) as [small last].
  set (h := 37 / 212 * L * eta_tilde ^ 3 * (1 + 1 / (INR K ^ 2 * INR M)) / INR M).
  set (e := eta_tilde ^ 2 * sigma ^ 2 / (INR K * INR M)).
  assert (H : 0 <= h).
  { assert (0 < eta_tilde ^ 3) by (now apply pow_lt). assert (0 < INR K ^ 2 * INR M) by (apply Rmult_lt_0_compat;
    [apply pow_lt |]; lra).
    assert (0 < 1 / (INR K ^ 2 * INR M)) by (apply Rdiv_lt_0_compat; lra).
    apply Rle_mult_inv_pos; [repeat apply Rmult_le_pos; lra | lra]. }
  assert (plain : forall m, (m < M)%nat -> tangent (F m) (gradF m) 0)
    by (intros m I; apply (tangent_plain _ _ mu); [lra | now apply convex]).
  pose proof (weighted_run_bound x0 xstar (sfl_round eta M K oracle) (objective M F) (grad_objective M gradF)
    (1 - mu * eta_tilde / 2) (2 * eta_tilde) (e + h * zeta_star ^ 2)) as B.
  eapply Rle_trans; [apply (B ltac:(lra) ltac:(lra)) with (a := mu * eta_tilde / 2) (times := 318 / 125) |].
  - apply objective_tangent; [lia | exact plain].
  - intros r xs.
    pose proof (one_round_strongly M K F gradF (oracle r xs) L sigma eta (xs r) xstar ltac:(lia) ltac:(lia) L0 eta0 smooth
      minimiser (noisy r xs) when mu convex ltac:(lra)) as O. cbv zeta in O. fold eta_tilde in O.
    eapply Rle_trans; [exact O |]. apply (Rmult_le_compat_l h) in het; [| exact H]. unfold e, h in *. lra.
  - reflexivity.
  - lra.
  - lra.
  - apply half_decayed. rewrite S_INR. exact last.
  - reflexivity.
  - apply Req_le. unfold thm1_strongly_convex_sharp, e, h, D. rewrite S_INR, pfl.norm_squared.
    replace (- (mu * eta_tilde / 2) * (INR rounds + 1)) with ((- mu) * eta_tilde * (1 + INR rounds) / 2) by field.
    field. lra.
Qed.
