(* SFL, Algorithm 1: the clients take K local steps each, one client after another in a random order.
   Step t = m K + k of a round is step k of the client at position m. *)
Require Import Reals Lra Lia Arith List Permutation.
Require Import rules chance order steps runs.
Open Scope R_scope.

Section Order.
Context {V : Inner}.
Variables (M K : nat) (F : nat -> V -> R) (gradF : nat -> V -> V) (c : nat -> nat) (next : nat -> (nat -> V) -> Dist V).
Variables (L sigma eta : R) (x xstar : V).
Hypothesis clients : (0 < M)%nat.
Hypothesis steps_ : (0 < K)%nat.
Hypothesis L_positive : 0 < L.
Hypothesis eta_positive : 0 < eta.
Hypothesis smooth : forall m, (m < M)%nat -> smooth_above (F m) (gradF m) L.
Hypothesis convex : forall m, (m < M)%nat -> tangent (F m) (gradF m) 0.
Hypothesis minimiser : forall y, objective M F xstar <= objective M F y.
(* c p is the client at position p *)
Hypothesis each_client : forall p, (p < M)%nat -> (c p < M)%nat.
Hypothesis all_clients : forall f : nat -> R, sum M (fun p => f (c p)) = sum M f.
Local Notation cl t := (c (t / K)%nat).
Local Notation n := (M * K)%nat.
Hypothesis noisy :
  forall t d, (t < n)%nat -> stochastic_gradient (next t d) (gradF (cl t) (point eta x d t)) sigma.
Hypothesis small : INR M * INR K * eta <= 1 / (6 * L).

Local Notation u := (u (fun t => gradF (cl t)) next n eta x xstar).
Local Notation w := (w (fun t => gradF (cl t)) next n eta x).
Local Notation noise := (noise (fun t => gradF (cl t)) next n eta x).
Local Notation local := (local (fun t => gradF (cl t)) next n eta x).
Local Notation star := (star (fun t => gradF (cl t)) next n xstar).
Local Notation far := (far next n x xstar).
Local Notation near := (near next n eta x xstar).
Local Notation Rand := (Random (steps next n) V).

(* at x*, and from x* to x *)
Definition s m : V := gradF m xstar.
Definition v m : V := sub (gradF m x) (gradF m xstar).
Definition kept t : Rand := fun _ => v (cl t).

Lemma position t : (t < n)%nat -> (t / K < M)%nat.
Proof. intro T. apply Nat.div_lt_upper_bound; lia. Qed.
Lemma at_position p k : (k < K)%nat -> ((p * K + k) / K)%nat = p.
Proof. intro I. rewrite Nat.div_add_l, Nat.div_small by lia. lia. Qed.
Lemma over_steps f : sum n (fun t => f (cl t)) = INR K * sum M f.
Proof.
  rewrite sum_by_rounds, <- (all_clients f), <- sum_scale. apply sum_ext; intros p _.
  rewrite (sum_ext K _ (fun _ => f (c p))) by (intros; rewrite at_position by assumption; reflexivity). apply sum_const.
Qed.

(* sum of u <= N sum ||u||^2: the gradients at x* add up to zero *)
Lemma square_of_locals : sq (vsum n local) <= INR n * sum n (fun t => sq (u t)).
Proof.
  eapply Rle_trans; [| apply jensen]. apply Req_le, sq_same. intro y. rewrite !ip_random. apply E_ext; intro d.
  rewrite !vsum_at, !ip_vsum.
  rewrite (sum_ext n (fun i => ip (u i d) (y d)) (fun t => ip (local t d) (y d) - ip (gradF (cl t) xstar) (y d)))
    by (intros; unfold steps.u, steps.local; apply ip_sub).
  rewrite sum_sub, (over_steps (fun m => ip (gradF m xstar) (y d))),
    (balanced M F gradF clients L xstar L_positive smooth minimiser). ring.
Qed.

Lemma u_is t (y : Rand) : ip (u t) y = ip (kept t) y - ip (w t) y.
Proof.
  rewrite !ip_random, <- E_sub. apply E_ext; intro d. unfold kept, v, steps.u, steps.w. rewrite !ip_sub. ring.
Qed.

(* the quadratic form in u and w that is left has its exact minimum over w *)
Lemma one_step t :
  - (2 / 3 * sq (u t) + 11 / 12 * sq (w t)) + 2 * (eta * L) * ip (w t) (vsum t star)
  <= - (22 / 57) * sq (kept t) + 16 / 19 * (eta * L) * ip (kept t) (vsum t star)
     + 12 / 19 * (eta * L) ^ 2 * sq (vsum t star).
Proof.
  assert (Q : sq (u t) = sq (kept t) - 2 * ip (kept t) (w t) + sq (w t)).
  { unfold sq at 1. rewrite u_is, (ip_sym (kept t)), (ip_sym (w t)), !u_is. unfold sq.
    rewrite (ip_sym (w t) (kept t)). ring. }
  rewrite Q. set (S := vsum t star).
  pose proof (square (sub (scale (19 / 12) (w t)) (add (scale (2 / 3) (kept t)) (scale (eta * L) S)))) as P.
  unfold sq in *. products_in P. rewrite (ip_sym (kept t) (w t)), (ip_sym S (w t)), (ip_sym S (kept t)) in *. lra.
Qed.

Lemma in_turn :
  - (2 * eta) * ip (vsum n local) far + eta ^ 2 * sq (vsum n local) + 2 * eta ^ 2 * ip (vsum n local) (vsum n noise)
  <= - (2 * eta) * (INR K * sum M (fun m => F m x - F m xstar))
     + eta / L * (- (22 / 57) * sum n (fun t => sq (kept t)) + 16 / 19 * (eta * L) *
        sum n (fun t => ip (kept t) (vsum t star))
                  + 12 / 19 * (eta * L) ^ 2 * sum n (fun t => sq (vsum t star))).
Proof.
  pose proof (chain (fun t => F (cl t)) (fun t => gradF (cl t)) next n L 0 0 sigma eta x xstar L_positive
    (fun t T => smooth _ (each_client _ (position t T))) (fun t T => convex _ (each_client _ (position t T)))
    ltac:(lra) ltac:(lra) noisy 0 ltac:(lra) ltac:(lra)) as C. cbv zeta in C.
  unfold gap_at_start in C. rewrite (over_steps (fun m => F m x - F m xstar)) in C.
  replace ((1 - 0) * eta) with eta in C by ring.
  pose proof square_of_locals as G. apply (Rmult_le_compat_l (eta ^ 2)) in G; [| apply pow2_ge_0].
  pose proof (sums_before n u) as SU.
  set (Su := sum n (fun t => sq (u t))) in *.
  assert (B : sum n (fun t => - (eta / L) * ((1 - 0) * sq (u t) + sq (w t)) - eta * 0 * 0 * sq (near t)
      + 2 * eta * eta * (ip (w t) (vsum t u) + ip (w t) (vsum t star) + 0 * ip (w t) (vsum t noise)))
    <= - (1 / 3 * (eta / L)) * Su + 12 * (eta ^ 3 * L) * sum n (fun t => sq (vsum t u))
      + eta / L * (- (22 / 57) * sum n (fun t => sq (kept t)) + 16 / 19 * (eta * L) *
        sum n (fun t => ip (kept t) (vsum t star))
                  + 12 / 19 * (eta * L) ^ 2 * sum n (fun t => sq (vsum t star)))).
  { unfold Su. rewrite <- !sum_scale, <- !sum_add, <- !sum_scale, <- !sum_add. apply sum_le; intros t T.
    pose proof (one_step t) as O. apply (Rmult_le_compat_l (eta / L)) in O; [| apply Rlt_le, Rdiv_lt_0_compat; lra].
    replace (eta / L * (- (2 / 3 * sq (u t) + 11 / 12 * sq (w t)) + 2 * (eta * L) * ip (w t) (vsum t star)))
      with (eta / L * - (2 / 3 * sq (u t) + 11 / 12 * sq (w t)) + 2 * eta ^ 2 * ip (w t) (vsum t star)) in O by
        (field; lra).
    pose proof (young (12 * (eta * L)) (vsum t u) (w t) ltac:(apply Rmult_lt_0_compat;
      [lra | now apply Rmult_lt_0_compat])) as Y.
    apply (Rmult_le_compat_l (eta ^ 2)) in Y; [| apply pow2_ge_0].
    replace (eta ^ 2 * (12 * (eta * L) * sq (vsum t u) + sq (w t) / (12 * (eta * L))))
      with (12 * (eta ^ 3 * L) * sq (vsum t u) + eta / L * (1 / 12) * sq (w t)) in Y by (field; lra).
    rewrite (ip_sym (vsum t u)) in Y. lra. }
  assert (P : 0 < 12 * (eta ^ 3 * L)).
  { apply Rmult_lt_0_compat; [lra |]. apply Rmult_lt_0_compat; [now apply pow_lt | exact L_positive]. }
  apply (Rmult_le_compat_l (12 * (eta ^ 3 * L))) in SU; [| lra].
  assert (N : - (1 / 3 * (eta / L)) * Su + 12 * (eta ^ 3 * L) * (INR n * (INR n - 1) / 2 * Su) + eta ^ 2 * (INR n * Su)
    <= 0).
  { rewrite mult_INR. set (h := INR M * INR K * eta * L).
    assert (H : 0 <= h <= 1 / 6).
    { split; [repeat apply Rmult_le_pos; try apply pos_INR; lra |].
      apply (Rmult_le_compat_r L) in small; [| lra]. unfold h.
      replace (1 / 6) with (1 / (6 * L) * L) by (field; lra). exact small. }
    replace (- (1 / 3 * (eta / L)) * Su + 12 * (eta ^ 3 * L) * (INR M * INR K * (INR M * INR K - 1) / 2 * Su)
        + eta ^ 2 * (INR M * INR K * Su))
      with (- (eta / L * Su * (1 / 3 - h - 6 * h ^ 2 + 6 * (h * (eta * L))))) by (unfold h; field; lra).
    assert (0 <= eta / L * Su).
    { apply Rmult_le_pos; [apply Rlt_le, Rdiv_lt_0_compat; lra | apply sum_least; intros; apply square]. }
    assert (0 <= h * (eta * L)) by (apply Rmult_le_pos; [lra | apply Rmult_le_pos; lra]).
    assert (0 <= 1 / 3 - h - 6 * h ^ 2) by nra.
    assert (0 <= eta / L * Su * (1 / 3 - h - 6 * h ^ 2 + 6 * (h * (eta * L)))) by (apply Rmult_le_pos; lra). lra. }
  lra.
Qed.

(* strongly convex: what is left by Young's inequality; the noise so far does not come in *)
Lemma in_turn_young mu kappa rho :
  (forall m, (m < M)%nat -> tangent (F m) (gradF m) mu) -> 0 <= mu <= L -> 0 <= kappa <= 1 -> 0 < rho ->
  1 / 6 + (1 + 1 / rho) / 72 <= 1 - kappa ->
  - (2 * eta) * ip (vsum n local) far + eta ^ 2 * sq (vsum n local) + 2 * eta ^ 2 * ip (vsum n local) (vsum n noise)
  <= - (2 * eta) * (INR K * sum M (fun m => F m x - F m xstar)) - eta * kappa * mu * (1 - rho) * INR n * sq (sub x xstar)
     + 2 * eta ^ 2 * (kappa * mu) * sum n (fun t => ip far (vsum t star))
     + eta ^ 3 * L * (1 + rho) * sum n (fun t => sq (vsum t star)).
Proof.
  intros C [A B] S P left.
  pose proof (young_steps (fun t => F (cl t)) (fun t => gradF (cl t)) next n L mu kappa sigma eta x xstar L_positive
    (fun t T => smooth _ (each_client _ (position t T))) (fun t T => C _ (each_client _ (position t T))) A S noisy
    0 rho 0 0 eta_positive ltac:(lra) P B ltac:(split; [lra | split; [lra | intros; lra]])
    ltac:(rewrite mult_INR; exact small) ltac:(lra)) as Y. cbv zeta in Y.
  unfold gap_at_start in Y. rewrite (over_steps (fun m => F m x - F m xstar)) in Y.
  replace ((1 - 0) * eta) with eta in Y by ring.
  pose proof square_of_locals as G. apply (Rmult_le_compat_l (eta ^ 2)) in G; [| apply pow2_ge_0]. lra.
Qed.

(* what comes before a step, by positions *)
Lemma before p k z : (k < K)%nat ->
  ip (vsum (p * K + k) (fun t => s (cl t))) z = INR K * ip (vsum p (fun i => s (c i))) z + INR k * ip (s (c p)) z.
Proof.
  intro I. rewrite !ip_vsum, sum_split, sum_by_rounds. f_equal.
  - rewrite <- sum_scale. apply sum_ext; intros i _.
    rewrite (sum_ext K _ (fun _ => ip (s (c i)) z)) by (intros; rewrite at_position by assumption; reflexivity).
      apply sum_const.
  - rewrite (sum_ext k _ (fun _ => ip (s (c p)) z)) by (intros; rewrite at_position by lia; reflexivity). apply sum_const.
Qed.

Local Notation k_ := (INR K).
Definition squares_ := sum M (fun p => sq (vsum p (fun i => s (c i)))).
Definition crossed_ (a : nat -> V) := sum M (fun p => ip (a (c p)) (vsum p (fun i => s (c i)))).

Lemma sum_kept : sum n (fun t => sq (kept t)) = k_ * sum M (fun m => sq (v m)).
Proof.
  rewrite <- (over_steps (fun m => sq (v m))). apply sum_ext; intros t _. exact (E_const _ (sq (v (cl t)))).
Qed.
Lemma star_at t d : vsum t star d = vsum t (fun i => s (cl i)).
Proof. apply vsum_at. Qed.
Lemma sum_crossed (a : nat -> V) :
  sum n (fun t => ip ((fun _ => a (cl t)) : Rand) (vsum t star))
  = k_ ^ 2 * crossed_ a + k_ * (k_ - 1) / 2 * sum M (fun m => ip (a m) (s m)).
Proof.
  rewrite (sum_ext n _ (fun t => ip (vsum t (fun i => s (cl i))) (a (cl t)))).
  2:{ intros t _. rewrite ip_sym, <- (E_const (steps next n) (ip _ (a (cl t)))), ip_random. apply E_ext; intro d.
    now rewrite star_at. }
  rewrite sum_by_rounds, <- (all_clients (fun m => ip (a m) (s m))). unfold crossed_. rewrite <- !sum_scale, <- sum_add.
  apply sum_ext; intros p _.
  rewrite (sum_ext K _ (fun k => k_ * ip (a (c p)) (vsum p (fun i => s (c i))) + ip (a (c p)) (s (c p)) * INR k)).
  - rewrite sum_add, sum_const, (sum_scale K _ INR), sum_of_counts. ring.
  - intros k I. rewrite before, at_position by exact I. rewrite (ip_sym _ (a _)), (ip_sym (s _)). ring.
Qed.
Lemma sum_squares :
  sum n (fun t => sq (vsum t star))
  = k_ ^ 3 * squares_ + k_ ^ 2 * (k_ - 1) * crossed_ s + k_ * (k_ - 1) * (2 * k_ - 1) / 6 * sum M (fun m => sq (s m)).
Proof.
  rewrite (sum_ext n _ (fun t => sq (vsum t (fun i => s (cl i))))).
  2:{ intros t _. unfold sq. rewrite <- (E_const (steps next n) (ip _ (vsum t (fun i => s (cl i))))), ip_random.
      apply E_ext; intro d. now rewrite star_at. }
  rewrite sum_by_rounds, <- (all_clients (fun m => sq (s m))). unfold squares_, crossed_. rewrite <- !sum_scale,
    <- !sum_add.
  apply sum_ext; intros p _. set (S := vsum p (fun i => s (c i))).
  rewrite (sum_ext K _ (fun k => k_ ^ 2 * sq S + 2 * k_ * ip (s (c p)) S * INR k + sq (s (c p)) * INR k ^ 2)).
  - rewrite sum_of_powers. field.
  - intros k I. set (W := vsum (p * K + k) (fun t => s (cl t))).
    assert (B : forall z, ip W z = k_ * ip S z + INR k * ip (s (c p)) z) by (intro; now apply before).
    unfold sq. rewrite B, (ip_sym S W), (ip_sym (s (c p)) W), !B, (ip_sym S (s (c p))). ring.
Qed.

(* ||x_(M,K) - x*||^2, given the order: the noise counts once *)
Lemma expanded :
  E (steps next n) (fun d => sq (sub (point eta x d n) xstar))
  <= sq (sub x xstar) + eta ^ 2 * (INR n * sigma ^ 2)
     + (- (2 * eta) * ip (vsum n local) far + eta ^ 2 * sq (vsum n local)
        + 2 * eta ^ 2 * ip (vsum n local) (vsum n noise)).
Proof.
  set (g := gradient_ next n).
  rewrite (E_ext _ _ (fun d => sq (sub x xstar) - 2 * eta * ip (vsum n g d) (far d) + eta ^ 2 * ip (vsum n g d) (vsum
    n g d))).
  2:{ intro d. rewrite (vsum_at n g d). unfold sq, g, gradient_, steps.far.
      change (vsum n (fun i => d i)) with (vsum n d). products.
      rewrite (ip_sym xstar (point _ _ _ _)), !ip_point, (ip_sym x (point _ _ _ _)), (ip_sym (vsum n _) (point _ _ _ _)),
        !ip_point, (ip_sym x (vsum n _)), (ip_sym xstar x). ring. }
  rewrite E_add, E_sub, E_const, !E_scale, <- !ip_random.
  pose proof (gradients_split (fun t => gradF (cl t)) next n eta x) as S. fold g in S.
  rewrite S, S, (ip_sym (vsum n local) (vsum n g)), (ip_sym (vsum n noise) (vsum n g)), !S.
  rewrite (fresh_sum (fun t => gradF (cl t)) next n sigma eta x noisy n far (le_n n) ltac:(intros d e _; reflexivity)).
  rewrite (ip_sym (vsum n noise) (vsum n local)).
  pose proof (all_noise (fun t => gradF (cl t)) next n sigma eta x noisy n (le_n n)) as A.
  apply (Rmult_le_compat_l (eta ^ 2)) in A; [| apply pow2_ge_0]. unfold sq in A at 1. unfold sq at 3. lra.
Qed.

(* one round, given the order *)
Lemma given_order :
  E (steps next n) (fun d => sq (sub (point eta x d n) xstar))
  <= sq (sub x xstar) - 2 * (eta * k_) * sum M (fun m => F m x - F m xstar) + eta ^ 2 * (INR n * sigma ^ 2)
     + eta / L * (- (22 / 57) * (k_ * sum M (fun m => sq (v m)))
        + 16 / 19 * (eta * L) * (k_ ^ 2 * crossed_ v + k_ * (k_ - 1) / 2 * sum M (fun m => ip (v m) (s m)))
        + 12 / 19 * (eta * L) ^ 2 * (k_ ^ 3 * squares_ + k_ ^ 2 * (k_ - 1) * crossed_ s
            + k_ * (k_ - 1) * (2 * k_ - 1) / 6 * sum M (fun m => sq (s m)))).
Proof.
  pose proof in_turn as T.
  assert (Y : sum n (fun t => ip (kept t) (vsum t star)) = k_ ^ 2 * crossed_ v
    + k_ * (k_ - 1) / 2 * sum M (fun m => ip (v m) (s m))) by exact (sum_crossed v).
  rewrite sum_kept, Y, sum_squares in T.
  pose proof expanded as X. lra.
Qed.
Lemma given_order_strongly mu kappa rho :
  (forall m, (m < M)%nat -> tangent (F m) (gradF m) mu) -> 0 <= mu <= L -> 0 <= kappa <= 1 -> 0 < rho ->
  1 / 6 + (1 + 1 / rho) / 72 <= 1 - kappa ->
  E (steps next n) (fun d => sq (sub (point eta x d n) xstar))
  <= (1 - eta * kappa * mu * (1 - rho) * INR n) * sq (sub x xstar)
     - 2 * (eta * k_) * sum M (fun m => F m x - F m xstar) + eta ^ 2 * (INR n * sigma ^ 2)
     + 2 * eta ^ 2 * (kappa * mu) * (k_ ^ 2 * crossed_ (fun _ => sub x xstar)
         + k_ * (k_ - 1) / 2 * sum M (fun m => ip (sub x xstar) (s m)))
     + eta ^ 3 * L * (1 + rho) * (k_ ^ 3 * squares_ + k_ ^ 2 * (k_ - 1) * crossed_ s
         + k_ * (k_ - 1) * (2 * k_ - 1) / 6 * sum M (fun m => sq (s m))).
Proof.
  intros C B S P left. pose proof (in_turn_young mu kappa rho C B S P left) as T. pose proof expanded as X.
  assert (Y : sum n (fun t => ip far (vsum t star)) = k_ ^ 2 * crossed_ (fun _ => sub x xstar)
    + k_ * (k_ - 1) / 2 * sum M (fun m => ip (sub x xstar) (s m))) by exact (sum_crossed (fun _ => sub x xstar)).
  rewrite Y, sum_squares in T. lra.
Qed.
End Order.
