(* From a round to a run: what a recursion that holds in every round says of all rounds.

   The theorems of composition.py apply these lemmas.  A quantity of a round is a function from nat: its value in round r. *)
Require Import Reals Lra Lia rules.
Open Scope R_scope.

(* ---- Means over the rounds 0 ... n - 1; round t has the weight rho ^ -(t + 1) ---- *)

Definition weights rho n := sum n (fun t => / rho ^ S t).
Definition weighted_mean rho n g := sum n (fun t => / rho ^ S t * g t) / weights rho n.
Definition mean n g := sum n g / INR n.

Lemma rounds_of_count x n : 1 <= x -> x = INR n -> (0 < n)%nat.
Proof. intros H E. destruct n; [simpl in E; lra | lia]. Qed.
Lemma one_more x n : x = INR n -> INR (S n) = x + 1.
Proof. intros ->. apply S_INR. Qed.
Lemma weight_positive rho t : 0 < rho -> 0 < / rho ^ t.
Proof. intro H. apply Rinv_0_lt_compat. now apply pow_lt. Qed.
Lemma weights_positive rho n : (0 < n)%nat -> 0 < rho -> 0 < weights rho n.
Proof.
  intros N H. eapply Rlt_le_trans; [exact (weight_positive rho 1 H) |].
  apply (one_of_sum n 0 (fun t => / rho ^ S t)); [intros; now apply Rlt_le, weight_positive | exact N].
Qed.
Lemma mean_least n g : (0 < n)%nat -> (forall t, 0 <= g t) -> 0 <= mean n g.
Proof.
  intros N G. apply Rle_mult_inv_pos; [apply sum_least; auto | apply lt_0_INR; exact N].
Qed.
Lemma weighted_mean_least rho n g : (0 < n)%nat -> 0 < rho -> (forall t, 0 <= g t) -> 0 <= weighted_mean rho n g.
Proof.
  intros N H G. apply Rle_mult_inv_pos; [| now apply weights_positive].
  apply sum_least; intros. apply Rmult_le_pos; [now apply Rlt_le, weight_positive | apply G].
Qed.
Lemma least_of_mean n g least : (0 < n)%nat -> (forall t, least <= g t) -> least <= mean n g.
Proof. intros N H. apply smallest; auto. Qed.
Lemma least_of_weighted_mean rho n g least :
  (0 < n)%nat -> 0 < rho -> (forall t, least <= g t) -> least <= weighted_mean rho n g.
Proof.
  intros N P H. apply (smallest_of_weighted n (fun t => / rho ^ S t)); [| now apply weights_positive | auto].
  intros; now apply Rlt_le, weight_positive.
Qed.

(* ---- Telescoping: a recursion for the state a, with the progress g ---- *)

Lemma telescoped (a g : nat -> R) rho P c n start :
  (0 < n)%nat -> rho > 0 -> P > 0 -> a O = start -> 0 <= a n -> (forall t, a (S t) <= rho * a t - P * g t + c) ->
  weighted_mean rho n g <= (start / weights rho n + c) / P.
Proof. intros N Rho P0 <- A H. apply telescope; auto. Qed.
Lemma averaged (a g : nat -> R) P c n N start :
  (0 < n)%nat -> INR n = N -> P > 0 -> a O = start -> 0 <= a n -> (forall t, a (S t) <= a t - P * g t + c) ->
  mean n g <= (start / N + c) / P.
Proof. intros N0 <- P0 <- A H. apply rules.averaged; auto. Qed.
Lemma averaged_kept (a g : nat -> R) P c n N start last :
  (0 < n)%nat -> INR n = N -> P > 0 -> a O = start -> a n = last -> (forall t, a (S t) <= a t - P * g t + c) ->
  mean n g <= ((start - last) / N + c) / P.
Proof. intros N0 <- P0 <- <- H. apply telescope_kept; auto. Qed.

(* ---- Contraction ---- *)

Lemma lasted (a : nat -> R) q c loses n start :
  0 <= q -> loses > 0 -> loses = 1 - q -> 0 <= c -> a O = start -> (forall t, a (S t) <= q * a t + c) ->
  a n <= q ^ n * start + c / loses.
Proof. intros Q L -> C <- H. apply lasting; auto; lra. Qed.

(* ---- The sum of the weights by its closed form; least: exp (- least) <= 1 - 1 / times ---- *)

Lemma decayed_enough times least x :
  exp (- least) <= 1 - 1 / times -> x >= least -> exp (- x) <= 1 - 1 / times.
Proof. intros E L. eapply Rle_trans; [apply exp_grows | exact E]. lra. Qed.
Lemma by_six_terms x times :
  0 <= x -> 1 < times -> times <= (times - 1) * (1 + x + x ^ 2 / 2 + x ^ 3 / 6 + x ^ 4 / 24 + x ^ 5 / 120) ->
  exp (- x) <= 1 - 1 / times.
Proof.
  intros X T H. pose proof (exp_series x 5 X) as E. simpl in E. rewrite exp_Ropp.
  replace (1 - 1 / times) with (/ (times / (times - 1))) by (field; lra).
  apply Rinv_le_contravar; [apply Rdiv_lt_0_compat; lra |]. apply Rmult_le_reg_l with (times - 1); [lra |].
  replace ((times - 1) * (times / (times - 1))) with times by (field; lra). eapply Rle_trans; [exact H |].
  apply Rmult_le_compat_l; lra.
Qed.
Ltac six_terms := apply by_six_terms; lra.
Lemma enough_3 : exp (- (1 / 2)) <= 1 - 1 / 3. Proof. six_terms. Qed.
Lemma enough_2 : exp (- (1)) <= 1 - 1 / 2. Proof. six_terms. Qed.
Lemma enough_half : exp (- (1 / 2)) <= 1 - 1 / (318 / 125). Proof. six_terms. Qed.
Lemma enough_one : exp (- (1)) <= 1 - 1 / (1306 / 825). Proof. six_terms. Qed.
Ltac decays := first [exact enough_3 | exact enough_2 | exact enough_half | exact enough_one].

Lemma contracted rho u n N times least start rest q :
  rho = 1 - u -> INR n = N -> u > 0 -> rho > 0 -> times > 1 -> exp (- least) <= 1 - 1 / times -> u * N >= least ->
  0 <= start -> q <= start / weights rho n + rest -> q <= times * u * start * exp (- u * N) + rest.
Proof.
  intros -> <- U1 U2 T E L A H. eapply Rle_trans; [exact H |]. apply Rplus_le_compat_r. unfold weights.
  rewrite (sum_of_weights u n ltac:(lra)).
  pose proof (decayed u n ltac:(lra)) as D. set (p := (1 - u) ^ n) in *.
  assert (P : 0 < p) by (apply pow_lt; lra).
  assert (B : exp (- u * INR n) <= 1 - 1 / times).
  { replace (- u * INR n) with (- (u * INR n)) by ring. now apply (decayed_enough times least). }
  set (e := exp (- u * INR n)) in *. assert (I : 0 < 1 / times) by (apply Rdiv_lt_0_compat; lra).
  replace (start / ((/ p - 1) / u)) with (u * start * (p * / (1 - p))) by (field; lra).
  replace (times * u * start * e) with (u * start * (e * times)) by ring.
  apply Rmult_le_compat_l; [apply Rmult_le_pos; lra |].
  apply Rmult_le_compat; [lra | apply Rlt_le, Rinv_0_lt_compat; lra | lra |].
  replace times with (/ (1 / times)) by (field; lra). apply Rinv_le_contravar; lra.
Qed.

(* ---- Lemmas 7 and 8 of `sfl`: Psi is b times the mean of s over n = T + 1 rounds ---- *)

Section Lemmas.
Variables (r s : nat -> R) (b gamma start : R) (n : nat).
Hypothesis rounds : (0 < n)%nat.
Hypothesis positive_b : 0 < b.
Hypothesis positive_gamma : 0 < gamma.
Hypothesis begins : r O = start.
Hypothesis not_negative : forall t, 0 <= r t.

Lemma lemma7 a c Psi :
  1 - a * gamma > 0 -> Psi = b * weighted_mean (1 - a * gamma) n s ->
  (forall t, r (S t) <= (1 - a * gamma) * r t - b * gamma * s t + c * gamma ^ 2) ->
  Psi <= c * gamma + start / (gamma * weights (1 - a * gamma) n).
Proof.
  intros A -> H. assert (0 < weights (1 - a * gamma) n) by (now apply weights_positive).
  assert (P : b * gamma > 0) by (now apply Rmult_lt_0_compat).
  pose proof (telescoped r s (1 - a * gamma) (b * gamma) (c * gamma ^ 2) n start rounds A P begins (not_negative n) H) as B.
  apply (Rmult_le_compat_l b) in B; [| lra]. eapply Rle_trans; [exact B |]. apply Req_le. field. lra.
Qed.

Lemma lemma7_decayed a c N times least Psi :
  a * gamma > 0 -> 1 - a * gamma > 0 -> times > 1 -> exp (- least) <= 1 - 1 / times -> a * gamma * N >= least ->
  INR n = N -> 0 <= start -> Psi = b * weighted_mean (1 - a * gamma) n s ->
  (forall t, r (S t) <= (1 - a * gamma) * r t - b * gamma * s t + c * gamma ^ 2) ->
  Psi <= times * a * start * exp (- (a * gamma) * N) + c * gamma.
Proof.
  intros A0 A T E L N0 S0 D H. pose proof (lemma7 a c Psi A D H) as B.
  assert (0 < weights (1 - a * gamma) n) by (now apply weights_positive).
  replace (times * a * start * exp (- (a * gamma) * N))
    with (times * (a * gamma) * (start / gamma) * exp (- (a * gamma) * N)) by (field; lra).
  apply (contracted (1 - a * gamma) (a * gamma) n N times least); auto.
  - apply Rle_mult_inv_pos; assumption.
  - eapply Rle_trans; [exact B |]. apply Req_le. field. lra.
Qed.

Lemma lemma8 c N Psi :
  INR n = N -> Psi = b * mean n s -> (forall t, r (S t) <= r t - b * gamma * s t + c * gamma ^ 2) ->
  Psi <= start / (gamma * N) + c * gamma.
Proof.
  intros N0 -> H. assert (0 < N) by (rewrite <- N0; now apply lt_0_INR).
  assert (P : b * gamma > 0) by (now apply Rmult_lt_0_compat).
  pose proof (averaged r s (b * gamma) (c * gamma ^ 2) n N start rounds N0 P begins (not_negative n) H) as B.
  apply (Rmult_le_compat_l b) in B; [| lra]. eapply Rle_trans; [exact B |]. apply Req_le. field. lra.
Qed.
End Lemmas.

(* from b times a mean, and back *)
Lemma of_multiple b m v Psi : 0 < b -> Psi = b * m -> m <= v -> Psi <= b * v.
Proof. intros B -> H. apply Rmult_le_compat_l; lra. Qed.
Lemma of_part b m v Psi : 0 < b -> Psi = b * m -> Psi <= v -> m <= v / b.
Proof.
  intros B -> H. apply Rmult_le_reg_l with b; [exact B |]. replace (b * (v / b)) with v by (field; lra). exact H.
Qed.

(* a lower bound in another form *)
Lemma as_ge x y c : y >= c -> x = y -> x >= c.
Proof. now intros H ->. Qed.
Lemma as_gt x y c : y > c -> x = y -> x > c.
Proof. now intros H ->. Qed.
