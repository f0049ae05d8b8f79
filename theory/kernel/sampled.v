(* What SFL's paper claims of its algorithms with S of M clients in a round, non-convex ((54) and (80)), and that it is
   false: two clients, one of them in a round. *)
Require Import Reals Lra Lia List.
Require Import rules chance order steps runs printed.
Require pfl sfl example.
Open Scope R_scope.

(* Algorithm 1 with partial participation: only pi_1, ..., pi_S of a random order, and x^(r+1) = x_(S,K) *)
Definition sfl_round {V : Inner} (eta : R) (M S K : nat)
  (oracle : nat -> (nat -> V) -> list nat -> nat -> (nat -> V) -> Dist V) (r : nat) (xs : nat -> V) : Dist V :=
  pi <- order S (seq 0 M);
  g <- loop zero (oracle r xs pi) (S * K);
  ret (point eta (xs r) g (S * K)).
(* Algorithm 2 with partial participation: the mean over pi_1, ..., pi_S; g p is of the client at position p *)
Definition pfl_round {V : Inner} (eta : R) (M S K : nat)
  (oracle : nat -> (nat -> V) -> list nat -> nat -> nat -> (nat -> V) -> Dist V) (r : nat) (xs : nat -> V) : Dist V :=
  pi <- order S (seq 0 M);
  g <- independently (fun _ => zero) (fun p => loop zero (oracle r xs pi p) K) S;
  ret (mean S (fun p => point eta (xs r) (g p) K)).

(* with all clients they are the algorithms of sfl.v and, but for the order of the clients, of pfl.v *)
Lemma all_in_turn {V : Inner} eta M K oracle : @sfl_round V eta M M K oracle = sfl.sfl_round eta M K oracle.
Proof. reflexivity. Qed.

(* Assumption 1 *)
Definition smooth {V : Inner} (f : V -> R) (grad : V -> V) L :=
  smooth_above f grad L /\ tangent f grad (- L) /\ lipschitz grad L.
(* Assumption 3a *)
Definition heterogeneous {V : Inner} M (gradF : nat -> V -> V) beta zeta := forall x,
  sum M (fun m => sq (sub (gradF m x) (grad_objective M gradF x))) / INR M
  <= beta ^ 2 * sq (grad_objective M gradF x) + zeta ^ 2.

Record nonconvex {V : Inner} M (F : nat -> V -> R) gradF L sigma beta zeta lowest : Prop := {
  positive : 0 < L;
  amounts : 0 <= sigma /\ 0 <= beta /\ 0 <= zeta;
  all_smooth : forall m, (m < M)%nat -> smooth (F m) (gradF m) L;
  bounded_below : forall x, lowest <= objective M F x;
  apart : heterogeneous M gradF beta zeta
}.

(* (54), as printed *)
Definition eq54_of_the_paper : Prop :=
  forall (V : Inner) (M S K rounds : nat) (F : nat -> V -> R) (gradF : nat -> V -> V)
    (L sigma beta zeta lowest eta : R) (x0 : V)
    (oracle : nat -> (nat -> V) -> list nat -> nat -> (nat -> V) -> Dist V),
  (1 <= S)%nat -> (S <= M)%nat -> (1 <= K)%nat -> (1 <= rounds)%nat -> 0 < eta ->
  nonconvex M F gradF L sigma beta zeta lowest ->
  (forall r xs pi t d, (t < S * K)%nat ->
    stochastic_gradient (oracle r xs pi t d) (gradF (nth (t / K) pi 0%nat) (point eta (xs r) d t)) sigma) ->
  let eta_tilde := eq54_eta_tilde (INR K) (INR S) eta in
  let A := objective M F x0 - lowest in
  eq54_when A (INR K) L (INR M) (INR rounds) (INR S) beta eta_tilde sigma zeta ->
  exists r, (r <= rounds)%nat /\
    E (run x0 (sfl_round eta M S K oracle) rounds) (fun xs => sq (grad_objective M gradF (xs r)))
    <= eq54 A (INR K) L (INR M) (INR rounds) (INR S) beta eta_tilde sigma zeta.

(* (80), as printed *)
Definition eq80_of_the_paper : Prop :=
  forall (V : Inner) (M S K rounds : nat) (F : nat -> V -> R) (gradF : nat -> V -> V)
    (L sigma beta zeta lowest eta : R) (x0 : V)
    (oracle : nat -> (nat -> V) -> list nat -> nat -> nat -> (nat -> V) -> Dist V),
  (1 <= S)%nat -> (S <= M)%nat -> (1 <= K)%nat -> (1 <= rounds)%nat -> 0 < eta ->
  nonconvex M F gradF L sigma beta zeta lowest ->
  (forall r xs pi p k d, (p < S)%nat -> (k < K)%nat ->
    stochastic_gradient (oracle r xs pi p k d) (gradF (nth p pi 0%nat) (point eta (xs r) d k)) sigma) ->
  let eta_tilde := eq80_eta_tilde (INR K) eta in
  let A := objective M F x0 - lowest in
  eq80_when A (INR K) L (INR M) (INR rounds) (INR S) beta eta_tilde sigma zeta ->
  exists r, (r <= rounds)%nat /\
    E (run x0 (pfl_round eta M S K oracle) rounds) (fun xs => sq (grad_objective M gradF (xs r)))
    <= eq80 A (INR K) L (INR M) (INR rounds) (INR S) beta eta_tilde sigma zeta.

(* what a round cannot bring below v, no run brings below v *)
Lemma stays {V : Inner} (x0 : V) round (h : V -> R) q v rounds :
  0 <= q -> (forall r xs, E (round r xs) h = q * h (xs r) + (1 - q) * v) -> v <= h x0 ->
  forall r, (r <= rounds)%nat -> v <= E (run x0 round rounds) (fun xs => h (xs r)).
Proof.
  intros Q H B r I. unfold run. set (next := fun t xs => match t with O => ret x0 | S r => round r xs end).
  rewrite (E_earlier zero next (S r) (S rounds) _ (known_at r h)) by lia. clear I.
  induction r as [| r IH].
  - rewrite E_next. simpl loop. rewrite E_ret. unfold next. now rewrite E_ret, set_at.
  - rewrite E_next. rewrite (E_ext _ _ (fun xs => q * h (xs r) + (1 - q) * v)).
    + rewrite E_add, E_scale, E_const. apply (Rmult_le_compat_l q) in IH; [lra | exact Q].
    + intro xs. unfold next at 1. rewrite <- H. apply E_ext; intro y. now rewrite set_at.
Qed.

(* The witness: (x - 1)^2 / 2 and (x + 1)^2 / 2, one of the two in a round, one step, exact gradients, from x^(0) = 1/5, with
   eta = 1/60.  Each round moves towards one of the two, and so the mean of x^2 stays above eta / (2 - eta). *)
Definition eta := 1 / 60.
Definition in_turn (r : nat) (xs : nat -> numbers) (pi : list nat) (t : nat) (d : nat -> numbers) : Dist numbers :=
  ret (example.gradF (nth (t / 1) pi 0%nat) (point eta (xs r) d t)).
Definition in_parallel (r : nat) (xs : nat -> numbers) (pi : list nat) (p k : nat) (d : nat -> numbers) : Dist numbers :=
  ret (example.gradF (nth p pi 0%nat) (point eta (xs r) d k)).
Definition squared (x : numbers) := sq (grad_objective 2 example.gradF x).

Lemma squared_is x : squared x = (x : R) ^ 2.
Proof. unfold squared, grad_objective, mean, example.gradF, example.place, sq. simpl. field. Qed.
Lemma exact (g : numbers) : stochastic_gradient (ret g) g 0.
Proof. split; [intro z |]; rewrite E_ret; [reflexivity |]. unfold sq, sub. simpl. lra. Qed.
Lemma class : nonconvex 2 example.F example.gradF 1 0 0 1 (1 / 2).
Proof.
  split; [lra | lra | | |].
  - intros m _. repeat split; intros x y; unfold example.F, example.gradF, sq, sub; simpl;
      pose proof (Rle_0_sqr (y - x)) as P; unfold Rsqr in P; lra.
  - intro x. unfold objective, example.F, example.place. simpl. pose proof (Rle_0_sqr x) as P. unfold Rsqr in P. lra.
  - intro x. unfold grad_objective, mean, example.gradF, example.place, sq, sub. simpl. lra.
Qed.
Lemma gap : objective 2 example.F (1 / 5 : numbers) - 1 / 2 = 1 / 50.
Proof. unfold objective, example.F, example.place. simpl. lra. Qed.

Lemma one_of_two (f : list nat -> R) : E (order 1 (seq 0 2)) f = (f (0%nat :: nil) + f (1%nat :: nil)) / 2.
Proof.
  simpl order. rewrite E_bind, E_uniformly. cbn [lsum length fst snd]. rewrite !E_bind, !E_ret. simpl. field.
Qed.
Lemma one_in_turn r xs :
  E (sfl_round eta 2 1 1 in_turn r xs) squared = (1 - eta) ^ 2 * squared (xs r) + (1 - (1 - eta) ^ 2) * (1 / 119).
Proof.
  unfold sfl_round. rewrite E_bind, one_of_two. simpl loop. rewrite !E_bind, !E_ret. unfold in_turn.
  rewrite !E_bind, !E_ret, !squared_is. unfold example.gradF, example.place, set, sub, eta. simpl. field.
Qed.
Lemma one_in_parallel r xs :
  E (pfl_round eta 2 1 1 in_parallel r xs) squared = (1 - eta) ^ 2 * squared (xs r) + (1 - (1 - eta) ^ 2) * (1 / 119).
Proof.
  unfold pfl_round. rewrite E_bind, one_of_two. unfold independently. simpl loop. rewrite !E_bind, !E_ret.
  rewrite !E_bind, !E_ret. unfold in_parallel. rewrite !E_bind, !E_ret, !squared_is.
  unfold mean, example.gradF, example.place, set, sub, eta. simpl. field.
Qed.

Lemma many rounds : (500 <= rounds)%nat -> 3 * (1 / 50) / (1 / 60 * INR rounds) <= 36 / 5000.
Proof.
  intro I. apply le_INR in I. replace (INR 500) with 500 in I by (rewrite INR_IZR_INZ; reflexivity).
  apply Rmult_le_reg_r with (INR rounds); [lra |]. field_simplify; lra.
Qed.

(* in no round of 500 or more *)
Theorem eq54_fails : forall rounds r, (500 <= rounds)%nat -> (r <= rounds)%nat ->
  E (run (1 / 5 : numbers) (sfl_round eta 2 1 1 in_turn) rounds) (fun xs => sq (grad_objective 2 example.gradF (xs r)))
  > eq54 (1 / 50) 1 1 2 (INR rounds) 1 0 eta 0 1.
Proof.
  intros rounds r N I. pose proof (stays (1 / 5 : numbers) (sfl_round eta 2 1 1 in_turn) squared ((1 - eta) ^ 2) (1 / 119)
    rounds) as B.
  eapply Rlt_le_trans; [| apply B]; [| unfold eta; lra | exact one_in_turn | rewrite squared_is; lra | exact I].
  pose proof (many rounds N) as M. unfold eq54. unfold eta. lra.
Qed.
Theorem eq80_fails : forall rounds r, (500 <= rounds)%nat -> (r <= rounds)%nat ->
  E (run (1 / 5 : numbers) (pfl_round eta 2 1 1 in_parallel) rounds)
    (fun xs => sq (grad_objective 2 example.gradF (xs r)))
  > eq80 (1 / 50) 1 1 2 (INR rounds) 1 0 eta 0 1.
Proof.
  intros rounds r N I. pose proof (stays (1 / 5 : numbers) (pfl_round eta 2 1 1 in_parallel) squared ((1 - eta) ^ 2)
    (1 / 119) rounds) as B.
  eapply Rlt_le_trans; [| apply B]; [| unfold eta; lra | exact one_in_parallel | rewrite squared_is; lra | exact I].
  pose proof (many rounds N) as M. unfold eq80. unfold eta. lra.
Qed.

Theorem eq54_refuted : ~ eq54_of_the_paper.
Proof.
  intro claim. destruct (claim numbers 2%nat 1%nat 1%nat 500%nat example.F example.gradF 1 0 0 1 (1 / 2) eta (1 / 5) in_turn)
    as [r [I B]]; try lia.
  - unfold eta; lra.
  - exact class.
  - intros r xs pi t d _. apply exact.
  - unfold eq54_when, eq54_eta_tilde, eta. change (INR 1) with 1. change (INR 2) with 2. rewrite sqrt_1. lra.
  - pose proof (eq54_fails 500 r ltac:(lia) I) as C. rewrite gap in B. change (INR 1) with 1 in B.
    change (INR 2) with 2 in B. replace (eq54_eta_tilde 1 1 eta) with eta in B by (unfold eq54_eta_tilde; ring). lra.
Qed.
Theorem eq80_refuted : ~ eq80_of_the_paper.
Proof.
  intro claim. destruct (claim numbers 2%nat 1%nat 1%nat 500%nat example.F example.gradF 1 0 0 1 (1 / 2) eta (1 / 5)
    in_parallel) as [r [I B]]; try lia.
  - unfold eta; lra.
  - exact class.
  - intros r xs pi p k d _ _. apply exact.
  - unfold eq80_when, eq80_eta_tilde, eta. change (INR 1) with 1. change (INR 2) with 2. lra.
  - pose proof (eq80_fails 500 r ltac:(lia) I) as C. rewrite gap in B. change (INR 1) with 1 in B.
    change (INR 2) with 2 in B. replace (eq80_eta_tilde 1 eta) with eta in B by (unfold eq80_eta_tilde; ring). lra.
Qed.
