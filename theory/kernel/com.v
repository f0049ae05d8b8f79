(* What FedCOM's paper claims of FedCOM on the regularised function (Theorem D.9, (45)), and that it is false: one client,
   no compression, and the step size of the theorem, which has the curvature without the regularisation. *)
Require Import Reals Lra Lia.
Require Import rules chance steps runs printed.
Require sampled.
Open Scope R_scope.

(* Algorithm 1 of FedCOM: w_j^(0,r) = w^(r), w_j^(c+1,r) = w_j^(c,r) - eta g_j^(c,r); client j sends Q_j((w - w_j)/eta), and
   w moves by eta gamma times the mean of that.  `coins` draws the clients' compressions. *)
Definition com_round {V : Inner} (eta gamma : R) (m tau : nat)
  (oracle : nat -> (nat -> V) -> nat -> nat -> (nat -> V) -> Dist V) (coins : Dist (nat -> V -> V))
  (r : nat) (xs : nat -> V) : Dist V :=
  g <- independently (fun _ => zero) (fun j => loop zero (oracle r xs j) tau) m;
  Q <- coins;
  let Delta j := Q j (scale (/ eta) (sub (xs r) (point eta (xs r) (g j) tau))) in
  ret (sub (xs r) (scale (eta * gamma) (mean m Delta))).

(* Assumption 2, with clients that do not know of each other's coins *)
Record compression {V : Inner} (m : nat) (coins : Dist (nat -> V -> V)) (q : R) : Prop := {
  unbiased : forall j x z, (j < m)%nat -> E coins (fun Q => ip (Q j x) z) = ip x z;
  variance : forall j x, (j < m)%nat -> E coins (fun Q => sq (sub (Q j x) x)) <= q * sq x;
  uncorrelated : forall i j x y, (i < m)%nat -> (j < m)%nat -> i <> j ->
    E coins (fun Q => ip (sub (Q i x) x) (sub (Q j y) y)) = 0
}.

(* Theorem D.9, as printed: FedCOM on f(w) + (phi/2) ||w||^2, for every client the same convex f *)
Definition thmD9_of_the_paper : Prop :=
  forall (V : Inner) (m tau rounds : nat) (f : V -> R) (gradf : V -> V) (L sigma q gamma : R) (w0 wstar : V)
    (oracle : nat -> (nat -> V) -> nat -> nat -> (nat -> V) -> Dist V) (coins : Dist (nat -> V -> V)),
  (1 <= m)%nat -> (1 <= tau)%nat -> (1 <= rounds)%nat -> 0 < L -> 0 < gamma -> 0 <= sigma -> 0 <= q ->
  sampled.smooth f gradf L -> tangent f gradf 0 -> (forall w, f wstar <= f w) ->
  let phi := fedcom_thmD9_phi (INR m) (INR tau) in
  let eta := fedcom_thmD9_eta L gamma (INR m) q (INR tau) in
  (forall r xs j c d, (j < m)%nat -> (c < tau)%nat ->
    stochastic_gradient (oracle r xs j c d)
      (add (gradf (point eta (xs r) d c)) (scale phi (point eta (xs r) d c))) sigma) ->
  compression m coins q ->
  let f_gap := f w0 - f wstar in
  fedcom_thmD9_when L (INR rounds) f_gap gamma (INR m) q sigma (INR tau) (sqrt (sq wstar)) ->
  E (run w0 (com_round eta gamma m tau oracle coins) rounds) (fun xs => f (xs rounds)) - f wstar
  <= fedcom_thmD9 L (INR rounds) f_gap gamma (INR m) q sigma (INR tau) (sqrt (sq wstar)).

(* The witness: w^2/20 from w^(0) = 1, so that phi = 1 and eta = 5: a step multiplies w by -9/2. *)
Definition f (w : numbers) : R := w ^ 2 / 20.
Definition gradf (w : numbers) : numbers := w / 10.
Definition exactly (r : nat) (xs : nat -> numbers) (j c : nat) (d : nat -> numbers) : Dist numbers :=
  ret (add (gradf (point 5 (xs r) d c)) (scale 1 (point 5 (xs r) d c))).
Definition uncompressed : Dist (nat -> numbers -> numbers) := ret (fun _ x => x).

Lemma is_smooth : sampled.smooth f gradf (1 / 10).
Proof.
  repeat split; intros x y; unfold f, gradf, sq, sub; simpl; pose proof (Rle_0_sqr (y - x)) as P; unfold Rsqr in P; lra.
Qed.
Lemma convex : tangent f gradf 0.
Proof. intros x y. unfold f, gradf, sq, sub. simpl. pose proof (Rle_0_sqr (y - x)) as P. unfold Rsqr in P. lra. Qed.
Lemma nothing_lost : compression 1 uncompressed 0.
Proof. split; intros; unfold uncompressed; rewrite E_ret; unfold sub, sq; simpl; lra. Qed.

Lemma E_round r xs : E (com_round 5 1 1 1 exactly uncompressed r xs) f = 81 / 4 * f (xs r).
Proof.
  unfold com_round, independently. simpl loop. unfold exactly, uncompressed. repeat (rewrite E_bind || rewrite E_ret).
  unfold mean, f, gradf, set, sub. simpl. field.
Qed.
Theorem com_diverges : forall rounds r, (r <= rounds)%nat ->
  E (run (1 : numbers) (com_round 5 1 1 1 exactly uncompressed) rounds) (fun xs => f (xs r)) = (81 / 4) ^ r / 20.
Proof.
  intros rounds r I. unfold run.
  set (next := fun t xs => match t with O => ret (1 : numbers) | S r => com_round 5 1 1 1 exactly uncompressed r xs end).
  rewrite (E_earlier zero next (S r) (S rounds) _ (known_at r f)) by lia. clear I. induction r as [| r IH]; rewrite E_next.
  - simpl loop. unfold next. rewrite !E_ret, set_at. unfold f. simpl. lra.
  - rewrite (E_ext _ _ (fun xs => 81 / 4 * f (xs r))).
    + rewrite E_scale, IH. simpl. field.
    + intro xs. unfold next at 1. rewrite <- E_round. apply E_ext; intro y. now rewrite set_at.
Qed.

(* exp (-x) <= 1, from the series alone: Coq's library goes by derivatives, which needs one more axiom *)
Lemma exp_at_most_one x : 0 < x -> exp (- x) <= 1.
Proof.
  intro P. set (a := fun n : nat => / INR (fact n) * x ^ n).
  assert (G : 1 <= exp x).
  { apply Rle_trans with (sum_f_R0 a 0); [unfold a; simpl; lra |]. apply sum_incr.
    - unfold exp, projT1. case (exist_exp x). intros y Y. exact Y.
    - intro n. apply Rmult_le_pos; [apply Rlt_le, Rinv_0_lt_compat, INR_fact_lt_0 | apply pow_le; lra]. }
  pose proof (exp_plus x (- x)) as S. rewrite Rplus_opp_r, exp_0 in S.
  apply (Rmult_le_compat_r (exp (- x))) in G; [lra | apply Rlt_le, exp_pos].
Qed.

(* after every number of rounds *)
Theorem thmD9_fails : forall rounds, (1 <= rounds)%nat ->
  E (run (1 : numbers) (com_round 5 1 1 1 exactly uncompressed) rounds) (fun xs => f (xs rounds))
  > fedcom_thmD9 (1 / 10) (INR rounds) (1 / 20) 1 1 0 0 1 0.
Proof.
  intros rounds I. rewrite com_diverges by lia. apply Rlt_gt, Rle_lt_trans with (1 / 20).
  - assert (P : 0 < INR rounds) by (apply lt_0_INR; lia). unfold fedcom_thmD9. rewrite sqrt_1.
    replace (- INR rounds / (2 * (1 / 10) * 1 * 1 * (1 + 0 / 1))) with (- (5 * INR rounds)) by field.
    pose proof (exp_at_most_one (5 * INR rounds) ltac:(lra)). lra.
  - destruct rounds as [| r]; [lia |]. simpl pow. pose proof (pow_R1_Rle (81 / 4) r ltac:(lra)). lra.
Qed.
Theorem thmD9_refuted : ~ thmD9_of_the_paper.
Proof.
  intro claim. pose proof (claim numbers 1%nat 1%nat 1%nat f gradf (1 / 10) 0 0 1 (1 : numbers) (0 : numbers) exactly
    uncompressed) as C. cbv zeta in C.
  assert (P : fedcom_thmD9_phi (INR 1) (INR 1) = 1).
  { unfold fedcom_thmD9_phi. change (INR 1) with 1. rewrite sqrt_1. field. }
  assert (H : fedcom_thmD9_eta (1 / 10) 1 (INR 1) 0 (INR 1) = 5).
  { unfold fedcom_thmD9_eta. change (INR 1) with 1. field. }
  assert (G : f (1 : numbers) - f (0 : numbers) = 1 / 20) by (unfold f; simpl; lra).
  assert (Z : f (0 : numbers) = 0) by (unfold f; simpl; lra).
  assert (N : sqrt (sq (0 : numbers)) = 0) by (unfold sq; simpl; rewrite Rmult_0_l; apply sqrt_0).
  rewrite P, H, G, N, Z in C. pose proof (thmD9_fails 1 ltac:(lia)) as F. change (INR 1) with 1 in C, F.
  enough (E (run (1 : numbers) (com_round 5 1 1 1 exactly uncompressed) 1) (fun xs => f (xs 1%nat)) - 0
    <= fedcom_thmD9 (1 / 10) 1 (1 / 20) 1 1 0 0 1 0) by lra.
  apply C; try lia; try lra.
  - exact is_smooth.
  - exact convex.
  - intro w. unfold f. pose proof (Rle_0_sqr w) as S. unfold Rsqr in S. simpl. lra.
  - intros r xs j c d _ _. apply sampled.exact.
  - exact nothing_lost.
  - unfold fedcom_thmD9_when. lra.
Qed.
