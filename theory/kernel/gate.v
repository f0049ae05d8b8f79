(* What FedCOM's paper claims of FedCOMGATE (Theorem E.4, (62)), and that it is false: one mask for all clients. *)
Require Import Reals Lra Lia List.
Require Import rules chance order steps runs printed sampled.
Open Scope R_scope.

(* Algorithm 2 of FedCOM.  xs r is the model w^(r) with the trackings delta_j^(r).  Lines 4 to 6: w_j^(0,r) = w^(r),
   w_j^(c+1,r) = w_j^(c,r) - eta (g_j^(c,r) - delta_j^(r)). *)
Definition local {V : Inner} (eta : R) (state : V * (nat -> V)) (j : nat) (g : nat -> V) (c : nat) : V :=
  point eta (fst state) (fun i => sub (g i) (snd state j)) c.
(* Lines 7 to 11: client j sends Delta_j = Q_j((w - w_j)/eta), w moves by eta gamma times the mean Delta, and the tracking
   delta_j by (Delta_j - Delta)/tau. *)
Definition update {V : Inner} (eta gamma : R) (m tau : nat) (state : V * (nat -> V)) (g : nat -> nat -> V)
  (Q : nat -> V -> V) : V * (nat -> V) :=
  let w := fst state in
  let Delta j := Q j (scale (/ eta) (sub w (local eta state j (g j) tau))) in
  (sub w (scale (eta * gamma) (mean m Delta)),
   fun j => add (snd state j) (scale (/ INR tau) (sub (Delta j) (mean m Delta)))).
(* `coins` draws the clients' compressions Q_j, which may depend on each other *)
Definition gate_round {V : Inner} (eta gamma : R) (m tau : nat)
  (oracle : nat -> (nat -> V * (nat -> V)) -> nat -> nat -> (nat -> V) -> Dist V) (coins : Dist (nat -> V -> V))
  (r : nat) (xs : nat -> V * (nat -> V)) : Dist (V * (nat -> V)) :=
  g <- independently (fun _ => zero) (fun j => loop zero (oracle r xs j) tau) m;
  Q <- coins;
  ret (update eta gamma m tau (xs r) g Q).
(* Line 1: delta_j^(0) = 0 *)
Definition gate {V : Inner} (eta gamma : R) (m tau : nat) oracle coins (w0 : V) (rounds : nat) :=
  loop (zero, fun _ => zero)
    (fun t xs => match t with O => ret (w0, fun _ => zero) | S r => gate_round eta gamma m tau oracle coins r xs end)
    (S rounds).

(* Assumptions 2 and 5 *)
Record compression {V : Inner} (m : nat) (coins : Dist (nat -> V -> V)) (q G_q : R) : Prop := {
  unbiased : forall j x z, (j < m)%nat -> E coins (fun Q => ip (Q j x) z) = ip x z;
  variance : forall j x, (j < m)%nat -> E coins (fun Q => sq (sub (Q j x) x)) <= q * sq x;
  difference : forall j xs, (j < m)%nat ->
    E coins (fun Q => sq (mean m (fun i => Q i (xs i))) - sq (Q j (mean m xs))) <= G_q
}.

(* Theorem E.4, as printed; w^(star) and w_j^(star) are minimisers of f and of f_j *)
Definition thmE4_of_the_paper : Prop :=
  forall (V : Inner) (m tau rounds : nat) (f : nat -> V -> R) (gradf : nat -> V -> V)
    (L sigma q G_q eta gamma : R) (w0 wstar : V) (wstars : nat -> V)
    (oracle : nat -> (nat -> V * (nat -> V)) -> nat -> nat -> (nat -> V) -> Dist V) (coins : Dist (nat -> V -> V)),
  (1 <= m)%nat -> (1 <= tau)%nat -> (1 <= rounds)%nat -> 0 < L -> 0 < eta -> 0 < gamma ->
  0 <= sigma -> 0 <= q -> 0 <= G_q ->
  (forall j, (j < m)%nat -> smooth (f j) (gradf j) L) ->
  (forall w, objective m f wstar <= objective m f w) ->
  (forall j w, (j < m)%nat -> f j (wstars j) <= f j w) ->
  (forall r xs j c d, (j < m)%nat -> (c < tau)%nat ->
    stochastic_gradient (oracle r xs j c d) (gradf j (local eta (xs r) j d c)) sigma) ->
  compression m coins q G_q ->
  let f_gap := objective m f w0 - objective m f wstar in
  let fj_gap_mean := sum m (fun j => f j w0 - f j (wstars j)) / INR m in
  fedcom_thmE4_when G_q L (INR rounds) eta f_gap fj_gap_mean gamma (INR m) q sigma (INR tau) ->
  sum rounds (fun r => E (gate eta gamma m tau oracle coins w0 rounds)
    (fun xs => sq (grad_objective m gradf (fst (xs r))))) / INR rounds
  <= fedcom_thmE4 G_q L (INR rounds) eta f_gap fj_gap_mean gamma (INR m) q sigma (INR tau).

(* The witness: w^2/2 + w and w^2/4 - w, exact gradients, two steps, from w^(0) = 0, the minimiser of their mean.  All
   clients have one mask, which keeps one coordinate of 4. *)
Definition h (j : nat) : R := match j with O => 1 | _ => 1 / 2 end.
Definition slope (j : nat) : R := match j with O => 1 | _ => -1 end.
Definition f (j : nat) : numbers -> R := fun w => h j * w ^ 2 / 2 + slope j * w.
Definition gradf (j : nat) : numbers -> numbers := fun w => h j * w + slope j.
Definition least (j : nat) : numbers := match j with O => -1 | _ => 2 end.
Definition eta := 1 / 16.
Definition gamma := 32 / 125.
Definition exactly (r : nat) (xs : nat -> numbers * (nat -> numbers)) (j c : nat) (d : nat -> numbers) : Dist numbers :=
  ret (gradf j (local eta (xs r) j d c)).
Definition keep : nat -> numbers -> numbers := fun _ x => 4 * x.
Definition drop : nat -> numbers -> numbers := fun _ _ => 0.
Definition one_mask : Dist (nat -> numbers -> numbers) := uniformly keep (drop :: drop :: drop :: nil).

Lemma E_mask g : E one_mask g = 1 / 4 * g keep + 3 / 4 * g drop.
Proof. unfold one_mask. rewrite E_uniformly. simpl. field. Qed.
Lemma compresses : compression 2 one_mask 3 0.
Proof.
  split; intros; rewrite E_mask; unfold keep, drop, mean, sq, sub; simpl; lra.
Qed.
Lemma all_smooth j : smooth (f j) (gradf j) 1.
Proof.
  repeat split; intros x y; unfold f, gradf, h, sq, sub; destruct j; simpl; pose proof (Rle_0_sqr (y - x)) as P;
    unfold Rsqr in P; lra.
Qed.
Lemma minimiser w : objective 2 f (0 : numbers) <= objective 2 f w.
Proof. unfold objective, f, h, slope. simpl. pose proof (Rle_0_sqr w) as P. unfold Rsqr in P. lra. Qed.
Lemma minimisers j w : f j (least j) <= f j w.
Proof.
  unfold f, h, slope, least. destruct j; simpl.
  - pose proof (Rle_0_sqr (w + 1)) as P. unfold Rsqr in P. lra.
  - pose proof (Rle_0_sqr (w - 2)) as P. unfold Rsqr in P. lra.
Qed.

(* The error of the first client's tracking, and a direction that a round multiplies, by 1 or by -1453/500 *)
Notation state := (numbers * (nat -> numbers))%type.
Definition error (s : state) : R := snd s O - 1 - fst s / 4.
Definition opposed (s : state) := snd s 1%nat = - snd s O :> R.

Definition start : nat -> numbers := fun _ => 0.
Definition first (s : state) j := set start 0 (gradf j (local eta s j start 0)).
Definition both (s : state) j := set (first s j) 1 (gradf j (local eta s j (first s j) 1)).
Definition drawn (s : state) := set (set (fun _ => start) 0 (both s 0%nat)) 1 (both s 1%nat).
Definition moved (s : state) Q := update eta gamma 2 2 s (drawn s) Q.
Local Notation round := (gate_round eta gamma 2 2 exactly one_mask).

Lemma E_round r xs g : E (round r xs) g = 1 / 4 * g (moved (xs r) keep) + 3 / 4 * g (moved (xs r) drop).
Proof.
  unfold gate_round, independently. simpl loop. unfold exactly.
  repeat (rewrite E_bind || rewrite E_ret). rewrite E_mask, !E_ret. reflexivity.
Qed.
Ltac computed :=
  unfold moved, update, drawn, both, first, start, local, mean, gradf, h, slope, eta, gamma, keep, drop, set, sub.
Lemma kept s : opposed s ->
  fst (moved s keep) = 29 / 32 * fst s - error s / 1000 :> R /\ error (moved s keep) = - (1453 / 500) * error s
  /\ opposed (moved s keep).
Proof.
  destruct s as [w delta]. unfold error, opposed. cbn [fst snd]. intro O. computed. simpl. rewrite O.
  repeat split; field.
Qed.
Lemma dropped s : opposed s ->
  fst (moved s drop) = fst s :> R /\ error (moved s drop) = error s /\ opposed (moved s drop).
Proof.
  destruct s as [w delta]. unfold error, opposed. cbn [fst snd]. intro O. computed. simpl. rewrite O.
  repeat split; field.
Qed.

(* a round multiplies the mean square of the error, and the model has a part of it *)
Definition rate := 2861209 / 1000000.
Lemma error_grows r xs : opposed (xs r) -> rate * error (xs r) ^ 2 <= E (round r xs) (fun s => error s ^ 2).
Proof.
  intro O. rewrite E_round. destruct (kept _ O) as [_ [K _]]. destruct (dropped _ O) as [_ [D _]]. rewrite K, D.
  unfold rate. lra.
Qed.
Definition squared (s : state) := sq (grad_objective 2 gradf (fst s)).
Lemma squared_is s : squared s = 9 / 16 * (fst s : R) ^ 2.
Proof. unfold squared, grad_objective, mean, gradf, h, slope, sq. simpl. field. Qed.
Lemma model_follows r xs : opposed (xs r) -> / 10 ^ 7 * error (xs r) ^ 2 <= E (round r xs) squared.
Proof.
  intro O. rewrite E_round, !squared_is. destruct (kept _ O) as [K _]. destruct (dropped _ O) as [D _]. rewrite K, D.
  set (w := fst (xs r) : R). set (e := error (xs r)). pose proof (Rle_0_sqr (w - 24 / 100000 * e)) as A.
  pose proof (Rle_0_sqr e) as B. pose proof (Rle_0_sqr w) as C. unfold Rsqr in *. simpl. lra.
Qed.

Lemma round_opposed r xs : opposed (xs r) -> sure (round r xs) opposed.
Proof.
  intro O. unfold gate_round. apply (sure_bind _ _ (fun g => g = drawn (xs r))).
  - unfold independently, sure. simpl. apply Forall_cons; [reflexivity | apply Forall_nil].
  - intros g ->. apply (sure_bind _ _ (fun Q => Q = keep \/ Q = drop)).
    + unfold sure, one_mask. simpl. repeat (apply Forall_cons; [simpl; auto |]). apply Forall_nil.
    + intros Q [-> | ->]; apply sure_ret; [apply (kept _ O) | apply (dropped _ O)].
Qed.
Local Notation next := (fun t xs => match t with O => ret ((0 : numbers), fun _ => (0 : numbers)) | S r => round r xs end).
Local Notation none := ((zero, fun _ => zero) : state).
Lemma always_opposed r : sure (loop none next (S r)) (fun xs => opposed (xs r)).
Proof.
  induction r as [| r IH].
  - unfold sure. simpl. repeat constructor. unfold opposed. simpl. ring.
  - apply (sure_bind _ _ (fun xs => opposed (xs r)) _ IH). intros xs O. apply (sure_bind _ _ opposed).
    + now apply round_opposed.
    + intros s A. apply sure_ret. now rewrite set_at.
Qed.
Lemma errors r : rate ^ r <= E (loop none next (S r)) (fun xs => error (xs r) ^ 2).
Proof.
  induction r as [| r IH].
  - rewrite E_next. simpl loop. rewrite !E_ret, set_at. unfold error. simpl. lra.
  - rewrite E_next. apply Rle_trans with (E (loop none next (S r)) (fun xs => rate * error (xs r) ^ 2)).
    + rewrite E_scale. simpl pow. apply Rmult_le_compat_l; [unfold rate; lra | exact IH].
    + apply (E_sure_le _ _ _ _ (always_opposed r)). intros xs O. eapply Rle_trans; [apply error_grows, O |].
      apply Req_le, E_ext; intro s. now rewrite set_at.
Qed.

Lemma known_state t (g : state -> R) : known (S t) (fun xs : nat -> state => g (xs t)).
Proof. intros d e H. now rewrite H by lia. Qed.

(* It diverges. *)
Theorem gate_diverges : forall rounds r, (r < rounds)%nat ->
  E (gate eta gamma 2 2 exactly one_mask (0 : numbers) rounds) (fun xs => sq (grad_objective 2 gradf (fst (xs (S r)))))
  >= (14 / 5) ^ r / 10 ^ 7.
Proof.
  intros rounds r I. apply Rle_ge.
  change ((14 / 5) ^ r / 10 ^ 7 <= E (loop none next (S rounds)) (fun xs => squared (xs (S r)))).
  rewrite (E_earlier none next (S (S r)) (S rounds) _ (known_state (S r) squared)) by lia. rewrite E_next.
  apply Rle_trans with (E (loop none next (S r)) (fun xs => / 10 ^ 7 * error (xs r) ^ 2)).
  - rewrite E_scale. unfold Rdiv. rewrite Rmult_comm. apply Rmult_le_compat_l; [simpl; lra |].
    eapply Rle_trans; [| apply errors]. apply pow_incr. unfold rate. lra.
  - apply (E_sure_le _ _ _ _ (always_opposed r)). intros xs O. eapply Rle_trans; [apply model_follows, O |].
    apply Req_le, E_ext; intro s. now rewrite set_at.
Qed.

(* the printed bound is 3 / R *)
Theorem thmE4_fails : forall rounds, (19 <= rounds)%nat ->
  sum rounds (fun r => E (gate eta gamma 2 2 exactly one_mask (0 : numbers) rounds)
    (fun xs => sq (grad_objective 2 gradf (fst (xs r))))) / INR rounds
  > fedcom_thmE4 0 1 (INR rounds) eta 0 (3 / 4) gamma 2 3 0 2.
Proof.
  intros rounds I. assert (P : 0 < INR rounds) by (apply lt_0_INR; lia).
  assert (B : fedcom_thmE4 0 1 (INR rounds) eta 0 (3 / 4) gamma 2 3 0 2 = 3 / INR rounds).
  { unfold fedcom_thmE4, eta, gamma. field. lra. }
  rewrite B. apply Rlt_le_trans with (7 / 2 / INR rounds).
  - apply Rmult_lt_compat_r; [now apply Rinv_0_lt_compat | lra].
  - apply Rmult_le_compat_r; [now apply Rlt_le, Rinv_0_lt_compat |].
    eapply Rle_trans; [| apply (one_of_sum rounds 18); [| lia]].
    + pose proof (gate_diverges rounds 17 ltac:(lia)) as D. apply Rge_le in D. eapply Rle_trans; [| exact D].
      simpl. lra.
    + intros r _. apply E_least; intro xs. apply square.
Qed.
Theorem thmE4_refuted : ~ thmE4_of_the_paper.
Proof.
  intro claim. assert (B : sum 19 (fun r => E (gate eta gamma 2 2 exactly one_mask (0 : numbers) 19)
    (fun xs => sq (grad_objective 2 gradf (fst (xs r))))) / INR 19
    <= fedcom_thmE4 0 1 (INR 19) eta 0 (3 / 4) gamma 2 3 0 2).
  { assert (G : objective 2 f (0 : numbers) - objective 2 f (0 : numbers) = 0) by ring.
    assert (J : sum 2 (fun j => f j (0 : numbers) - f j (least j)) / INR 2 = 3 / 4).
    { unfold f, h, slope, least. simpl. field. }
    pose proof (claim numbers 2%nat 2%nat 19%nat f gradf 1 0 3 0 eta gamma (0 : numbers) (0 : numbers) least exactly
      one_mask) as C. cbv zeta in C. rewrite G, J in C. apply C; try lia; try (unfold eta, gamma; lra).
    - intros j _. apply all_smooth.
    - exact minimiser.
    - intros j w _. apply minimisers.
    - intros r xs j c d _ _. apply exact.
    - exact compresses.
    - unfold fedcom_thmE4_when, eta, gamma. change (INR 2) with 2. lra. }
  pose proof (thmE4_fails 19 ltac:(lia)). lra.
Qed.
