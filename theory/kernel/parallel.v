(* PFL, Algorithm 2: the clients take K local steps in parallel, and the new model is the mean of theirs. *)
Require Import Reals Lra Lia.
Require Import rules chance steps runs.
Open Scope R_scope.

(* One client: what K steps leave. *)
Section Client.
Context {V : Inner}.
Variables (f : V -> R) (grad : V -> V) (next : nat -> (nat -> V) -> Dist V) (K : nat).
Variables (L mu kappa sigma eta q rho extra : R) (x xstar : V).
Hypothesis L_positive : 0 < L.
Hypothesis eta_positive : 0 < eta.
Hypothesis part : 0 <= q < 1.
Hypothesis smooth : smooth_above f grad L.
Hypothesis convex : tangent f grad mu.
Hypothesis curvature : 0 <= mu <= L.
Hypothesis share : 0 <= kappa <= 1.
Hypothesis weights : 0 < rho /\ 0 < extra.
Hypothesis noisy : forall t d, (t < K)%nat -> stochastic_gradient (next t d) (grad (point eta x d t)) sigma.
Hypothesis small : INR K * eta <= 1 / (6 * L).
Hypothesis enough_left : 1 / 6 + (1 + 1 / rho + extra) / 72 <= 1 - kappa.

Local Notation u := (u (fun _ => grad) next K eta x xstar).
Local Notation noise := (noise (fun _ => grad) next K eta x).
Local Notation local := (local (fun _ => grad) next K eta x).
Local Notation star := (star (fun _ => grad) next K xstar).
Local Notation far := (far next K x xstar).
Local Notation k_ := (INR K).

Lemma far_star t : ip far (vsum t star) = INR t * ip (sub x xstar) (grad xstar).
Proof.
  rewrite ip_vsum_r, <- sum_const. apply sum_ext; intros i _. exact (E_const _ (ip (sub x xstar) (grad xstar))).
Qed.
Lemma sq_star t : sq (vsum t star) = INR t ^ 2 * sq (grad xstar).
Proof.
  unfold sq. rewrite ip_vsums, (sum_ext t _ (fun _ => INR t * ip (grad xstar) (grad xstar))).
  - rewrite sum_const. ring.
  - intros i _. rewrite <- sum_const. apply sum_ext; intros j _. exact (E_const _ (ip (grad xstar) (grad xstar))).
Qed.

Lemma client :
  let f_ := (1 - q) * eta in
  - (2 * f_) * ip (vsum K local) far + 2 * f_ ^ 2 * ip (vsum K local) (vsum K noise)
    + f_ * eta * k_ * sum K (fun t => sq (u t))
  <= - (2 * f_) * (k_ * (f x - f xstar)) - f_ * kappa * mu * (1 - rho) * k_ * sq (sub x xstar)
     + f_ * eta * (kappa * mu) * k_ * (k_ - 1) * ip (sub x xstar) (grad xstar)
     + f_ * eta ^ 2 * L * ((1 + rho) * (k_ * (k_ - 1) * (2 * k_ - 1) / 6 * sq (grad xstar))
                           + (1 + 1 / extra) * q ^ 2 * (k_ * (k_ - 1) / 2 * sigma ^ 2)).
Proof.
  intro f_. destruct weights as [rho_ extra_].
  assert (A : 0 <= extra /\ 0 <= 1 / extra /\ forall a b : Random (steps next K) V,
    2 * (q * ip a b) <= extra * sq a + 1 / extra * (q ^ 2 * sq b)).
  { repeat split; [lra | apply Rlt_le, Rdiv_lt_0_compat; lra |]. intros a b.
    pose proof (young extra a (scale q b) extra_) as Y. unfold sq in *. products_in Y. unfold Rdiv in *. lra. }
  pose proof (young_steps (fun _ => f) (fun _ => grad) next K L mu kappa sigma eta x xstar L_positive
    (fun _ _ => smooth) (fun _ _ => convex) (proj1 curvature) share noisy q rho extra (1 / extra) eta_positive part rho_
    (proj2 curvature) A small enough_left) as C. cbv zeta in C. fold f_ in C.
  unfold gap_at_start in C. rewrite sum_const in C.
  assert (SF : sum K (fun t => ip far (vsum t star)) = ip (sub x xstar) (grad xstar) * (k_ * (k_ - 1) / 2)).
  { rewrite <- sum_of_counts, <- (sum_scale K _ INR). apply sum_ext; intros. rewrite far_star. apply Rmult_comm. }
  assert (SV : sum K (fun t => sq (vsum t star)) = k_ * (k_ - 1) * (2 * k_ - 1) / 6 * sq (grad xstar)).
  { rewrite <- sum_of_squares, (Rmult_comm _ (sq (grad xstar))), <- (sum_scale K _ (fun k => INR k ^ 2)).
    apply sum_ext; intros t _. rewrite sq_star. ring. }
  rewrite SF, SV in C. lra.
Qed.
End Client.

(* ---- One round of all clients ---- *)

Section Round.
Context {V : Inner}.
Variables (M K : nat) (F : nat -> V -> R) (gradF : nat -> V -> V) (next : nat -> nat -> (nat -> V) -> Dist V).
Variables (L mu kappa sigma eta rho extra : R) (x xstar : V).
Hypothesis clients : (0 < M)%nat.
Hypothesis steps_ : (0 < K)%nat.
Hypothesis L_positive : 0 < L.
Hypothesis eta_positive : 0 < eta.
Hypothesis smooth : forall m, (m < M)%nat -> smooth_above (F m) (gradF m) L.
Hypothesis convex : forall m, (m < M)%nat -> tangent (F m) (gradF m) mu.
Hypothesis curvature : 0 <= mu <= L.
Hypothesis share : 0 <= kappa <= 1.
Hypothesis weights : 0 < rho /\ 0 < extra.
Hypothesis minimiser : forall y, objective M F xstar <= objective M F y.
Hypothesis noisy :
  forall m k d, (m < M)%nat -> (k < K)%nat -> stochastic_gradient (next m k d) (gradF m (point eta x d k)) sigma.
Hypothesis small : INR K * eta <= 1 / (6 * L).
Hypothesis enough_left : 1 / 6 + (1 + 1 / rho + extra) / 72 <= 1 - kappa.

(* each client draws its K stochastic gradients by itself *)
Definition draws : Dist (nat -> nat -> V) := independently (fun _ => zero) (fun m => loop zero (next m) K) M.
Local Notation Rand := (Random draws V).
Local Notation f_ := (eta / INR M).

Definition total m : Rand := fun ds => vsum K (ds m).
Definition locals m : Rand := fun ds => vsum K (fun k => gradF m (point eta x (ds m) k)).
Definition noises m : Rand := fun ds => vsum K (fun k => sub (ds m k) (gradF m (point eta x (ds m) k))).
Definition changes m : Rand := fun ds => vsum K (fun k => sub (gradF m (point eta x (ds m) k)) (gradF m xstar)).
Definition away : Rand := fun _ => sub x xstar.

(* from one client's steps to the round *)
Lemma of_client m (a b : nat -> Random (steps (next m) K) V) :
  (m < M)%nat ->
  ip ((fun ds => vsum K (fun k => (a k : _ -> V) (ds m))) : Rand)
     ((fun ds => vsum K (fun k => (b k : _ -> V) (ds m))) : Rand)
  = ip (vsum K a) (vsum K b).
Proof.
  intro I. rewrite !ip_random. unfold draws.
  rewrite (E_marginal (fun _ => zero) (fun m => loop zero (next m) K) M m
    (fun d => ip (vsum K (fun k => (a k : _ -> V) d)) (vsum K (fun k => (b k : _ -> V) d))) I).
  apply E_ext; intro d. now rewrite !vsum_at.
Qed.

Lemma noise_centred m z : (m < M)%nat ->
  E (loop zero (next m) K) (fun d => ip (vsum K (fun k => sub (d k) (gradF m (point eta x d k)))) z) = 0.
Proof.
  intro I. pose proof (fresh_sum (fun _ => gradF m) (next m) K sigma eta x (fun t d => noisy m t d I) K (fun _ => z)
    (le_n K) ltac:(intros d e _; reflexivity)) as Z.
  rewrite ip_random in Z. rewrite <- Z. apply E_ext; intro d. now rewrite vsum_at.
Qed.
Lemma noise_of_others (y : nat -> Rand) (each : nat -> (nat -> V) -> V) :
  (forall m ds, (y m : _ -> V) ds = each m (ds m)) ->
  forall i j, (i < M)%nat -> (j < M)%nat -> i <> j -> ip (y i) (noises j) = 0.
Proof.
  intros Y i j I J N. rewrite ip_random. unfold draws.
  rewrite (E_ext _ _ (fun ds => ip (each i (ds i)) (vsum K (fun k => sub (ds j k) (gradF j (point eta x (ds j) k)))))).
  - apply (E_apart (fun _ => zero) (fun m => loop zero (next m) K) M i j (each i)
      (fun d => vsum K (fun k => sub (d k) (gradF j (point eta x d k)))) I J N).
    intro z. now apply noise_centred.
  - intro ds. now rewrite Y.
Qed.

Lemma total_split (y : Rand) : ip (vsum M total) y = ip (vsum M locals) y + ip (vsum M noises) y.
Proof.
  rewrite !ip_vsum, <- sum_add. apply sum_ext; intros m _. rewrite !ip_random, <- E_add. apply E_ext; intro ds.
  unfold total, locals, noises. rewrite !ip_vsum, <- sum_add. apply sum_ext; intros k _. rewrite ip_sub. ring.
Qed.
(* the gradients at x* add up to zero *)
Lemma locals_are_changes (y : Rand) : ip (vsum M locals) y = ip (vsum M changes) y.
Proof.
  rewrite !ip_random. apply E_ext; intro ds. rewrite !vsum_at, !ip_vsum.
  pose proof (balanced M F gradF clients L xstar L_positive smooth minimiser (y ds)) as B.
  replace (sum M (fun i => ip (locals i ds) (y ds)))
    with (sum M (fun i => ip (changes i ds) (y ds)) + INR K * sum M (fun m => ip (gradF m xstar) (y ds))).
  - rewrite B. ring.
  - rewrite <- sum_scale, <- sum_add. apply sum_ext; intros m _. unfold locals, changes. rewrite !ip_vsum,
    <- sum_const, <- sum_add.
    apply sum_ext; intros k _. rewrite ip_sub. ring.
Qed.
Lemma noise_beside_away : ip (vsum M noises) away = 0.
Proof.
  rewrite ip_vsum, (sum_ext M _ (fun _ => 0)); [rewrite sum_const; ring |]. intros m I.
  etransitivity; [| exact (noise_centred m (sub x xstar) I)].
  exact (E_marginal (fun _ => zero) (fun m => loop zero (next m) K) M m
    (fun d => ip (vsum K (fun k => sub (d k) (gradF m (point eta x d k)))) (sub x xstar)) I).
Qed.

Lemma square_of_total :
  sq (vsum M total)
  <= INR M * INR K * sum M (fun m => sum K (fun k => sq (u (fun _ => gradF m) (next m) K eta x xstar k)))
     + 2 * sum M (fun m => ip (locals m) (noises m)) + INR M * (INR K * sigma ^ 2).
Proof.
  unfold sq at 1. rewrite total_split, (ip_sym (vsum M locals)), (ip_sym (vsum M noises)), !total_split.
  rewrite (ip_sym (vsum M noises) (vsum M locals)).
  rewrite (noise_apart M locals noises).
  2:{ apply (noise_of_others locals (fun m d => vsum K (fun k => gradF m (point eta x d k)))). reflexivity. }
  rewrite locals_are_changes, (ip_sym (vsum M changes)), locals_are_changes.
  fold (sq (vsum M changes)). fold (sq (vsum M noises)). rewrite (independent M noises).
  2:{ apply (noise_of_others noises (fun m d => vsum K (fun k => sub (d k) (gradF m (point eta x d k))))). reflexivity. }
  assert (A : sq (vsum M changes)
    <= INR M * INR K * sum M (fun m => sum K (fun k => sq (u (fun _ => gradF m) (next m) K eta x xstar k)))).
  { eapply Rle_trans; [apply jensen |]. rewrite Rmult_assoc. apply Rmult_le_compat_l; [apply pos_INR |].
    rewrite <- sum_scale. apply sum_le; intros m I. eapply Rle_trans; [| apply jensen]. apply Req_le.
    exact (of_client m _ _ I). }
  assert (B : sum M (fun m => sq (noises m)) <= INR M * (INR K * sigma ^ 2)).
  { rewrite <- sum_const. apply sum_le; intros m I.
    eapply Rle_trans; [| apply (all_noise (fun _ => gradF m) (next m) K sigma eta x (fun t d => noisy m t d I) K
      (le_n K))].
    apply Req_le. exact (of_client m _ _ I). }
  lra.
Qed.

Definition next_model (ds : nat -> nat -> V) : V := mean M (fun m => point eta x (ds m) K).

Lemma ip_next_model ds z : ip (next_model ds) z = ip x z - f_ * ip (vsum M total ds) z.
Proof.
  unfold next_model. apply lt_0_INR in clients. rewrite ip_mean, vsum_at, ip_vsum.
  rewrite (sum_ext M _ (fun m => ip x z - eta * ip (total m ds) z)) by (intros; apply ip_point).
  rewrite sum_sub, sum_const, sum_scale. field. lra.
Qed.

Lemma local_away m : (m < M)%nat ->
  ip (locals m) away = ip (vsum K (local (fun _ => gradF m) (next m) K eta x)) (far (next m) K x xstar).
Proof.
  intro I. etransitivity.
  - exact (E_marginal (fun _ => zero) (fun m => loop zero (next m) K) M m
      (fun d => ip (vsum K (fun k => gradF m (point eta x d k))) (sub x xstar)) I).
  - rewrite ip_random. apply E_ext; intro d. now rewrite vsum_at.
Qed.
Lemma part_of_others : 0 <= 1 - / INR M < 1.
Proof.
  pose proof (lt_0_INR M clients). split; [| pose proof (Rinv_0_lt_compat (INR M)); lra].
  assert (1 <= INR M) by (apply (le_INR 1); lia). pose proof (Rinv_le_contravar 1 (INR M)). rewrite Rinv_1 in *. lra.
Qed.

(* (70) *)
Lemma one_round :
  let eta_tilde := INR K * eta in
  E draws (fun ds => sq (sub (next_model ds) xstar))
  <= (1 - kappa * (1 - rho) * mu * eta_tilde) * sq (sub x xstar)
     - 2 * eta_tilde * (objective M F x - objective M F xstar)
     + (eta_tilde ^ 2 * sigma ^ 2 / (INR K * INR M)
        + (1 + 1 / extra) / 2 * L * eta_tilde ^ 3 * sigma ^ 2 * (1 - 1 / INR K) * (1 - 1 / INR M) ^ 2 / INR K
        + (1 + rho) / 3 * L * eta_tilde ^ 3 * heterogeneity M gradF xstar * (1 - 1 / INR K) * (1 - 1 / (2 * INR K))).
Proof.
  intro eta_tilde. pose proof (lt_0_INR M clients) as M0. pose proof (lt_0_INR K steps_) as K0.
  rewrite (E_ext draws _ (fun ds => sq (sub x xstar) - 2 * f_ * ip (vsum M total ds) (away ds)
    + f_ ^ 2 * ip (vsum M total ds) (vsum M total ds))).
  2:{ intro ds. unfold sq, away. products. rewrite (ip_sym xstar (next_model ds)), !ip_next_model,
    (ip_sym x (next_model ds)),
        (ip_sym _ (next_model ds)), !ip_next_model, (ip_sym x (vsum M total ds)), (ip_sym xstar x). ring. }
  rewrite E_add, E_sub, E_const, !E_scale, <- !ip_random. fold (sq (vsum M total)).
  rewrite total_split, noise_beside_away, (ip_vsum M locals), Rplus_0_r.
  pose proof square_of_total as T. apply (Rmult_le_compat_l (f_ ^ 2)) in T; [| apply pow2_ge_0].
  set (c m := - (2 * f_) * (INR K * (F m x - F m xstar)) - f_ * kappa * mu * (1 - rho) * INR K * sq (sub x xstar)
    + f_ * eta * (kappa * mu) * INR K * (INR K - 1) * ip (sub x xstar) (gradF m xstar)
    + f_ * eta ^ 2 * L * ((1 + rho) * (INR K * (INR K - 1) * (2 * INR K - 1) / 6 * sq (gradF m xstar))
       + (1 + 1 / extra) * (1 - / INR M) ^ 2 * (INR K * (INR K - 1) / 2 * sigma ^ 2))).
  assert (C : sum M (fun m => - (2 * f_) * ip (locals m) away + 2 * f_ ^ 2 * ip (locals m) (noises m)
    + f_ * eta * INR K * sum K (fun k => sq (u (fun _ => gradF m) (next m) K eta x xstar k))) <= sum M c).
  { apply sum_le; intros m I. rewrite (local_away m I).
    replace (ip (locals m) (noises m)) with (ip (vsum K (local (fun _ => gradF m) (next m) K eta x))
      (vsum K (noise (fun _ => gradF m) (next m) K eta x))) by (symmetry; exact (of_client m _ _ I)).
    pose proof (client (F m) (gradF m) (next m) K L mu kappa sigma eta (1 - / INR M) rho extra x xstar L_positive
      eta_positive part_of_others (smooth m I) (convex m I) curvature share weights (fun t d => noisy m t d I) small
      enough_left) as B.
    cbv zeta in B. replace ((1 - (1 - / INR M)) * eta) with f_ in B by (field; lra). exact B. }
  rewrite !sum_add, !sum_scale in C. unfold c in C.
  rewrite !sum_add, sum_sub, !sum_scale, sum_add, !sum_scale, !sum_const, sum_sub in C.
  assert (Z : sum M (fun m => ip (sub x xstar) (gradF m xstar)) = 0).
  { rewrite <- (balanced M F gradF clients L xstar L_positive smooth minimiser (sub x xstar)). apply sum_ext; intros;
      apply ip_sym. }
  rewrite Z in C.
  unfold objective, heterogeneity.
  set (SF := sum M (fun m => F m x)) in *. set (SX := sum M (fun m => F m xstar)) in *.
  set (SG := sum M (fun m => sq (gradF m xstar))) in *.
  set (SL := sum M (fun m => ip (locals m) away)) in *. set (SN := sum M (fun m => ip (locals m) (noises m))) in *.
  set (SU := sum M (fun m => sum K _)) in *.
  replace (2 * eta_tilde * (SF / INR M - SX / INR M)) with (2 * f_ * (INR K * (SF - SX))) by (unfold eta_tilde;
    field; lra).
  replace (eta_tilde ^ 2 * sigma ^ 2 / (INR K * INR M)) with (f_ ^ 2 * (INR M * (INR K * sigma ^ 2)))
    by (unfold eta_tilde; field; lra).
  replace ((1 + 1 / extra) / 2 * L * eta_tilde ^ 3 * sigma ^ 2 * (1 - 1 / INR K) * (1 - 1 / INR M) ^ 2 / INR K)
    with (f_ * eta ^ 2 * L * (INR M * ((1 + 1 / extra) * (1 - / INR M) ^ 2 * (INR K * (INR K - 1) / 2 * sigma ^ 2))))
    by (unfold eta_tilde; field; lra).
  replace ((1 + rho) / 3 * L * eta_tilde ^ 3 * (SG / INR M) * (1 - 1 / INR K) * (1 - 1 / (2 * INR K)))
    with (f_ * eta ^ 2 * L * ((1 + rho) * (INR K * (INR K - 1) * (2 * INR K - 1) / 6 * SG)))
    by (unfold eta_tilde; field; lra).
  replace ((1 - kappa * (1 - rho) * mu * eta_tilde) * sq (sub x xstar))
    with (sq (sub x xstar) - INR M * (f_ * kappa * mu * (1 - rho) * INR K * sq (sub x xstar)))
    by (unfold eta_tilde; field; lra).
  replace (f_ * eta * INR K * SU) with (f_ ^ 2 * (INR M * INR K * SU)) in C by (field; lra).
  lra.
Qed.
End Round.
