(* PFL, Algorithm 2: the clients take K local steps in parallel, and the new model is the mean of theirs. *)
Require Import Reals Lra Lia.
Require Import rules chance steps runs.
Open Scope R_scope.

(* One client: what K steps leave.  eta_tilde <= 1 / (6 L) makes the factor of all ||u||^2 negative. *)
Section Client.
Context {V : Inner}.
Variables (f : V -> R) (grad : V -> V) (next : nat -> (nat -> V) -> Dist V) (K : nat).
Variables (L sigma eta q : R) (x xstar : V).
Hypothesis L_positive : 0 < L.
Hypothesis eta_positive : 0 < eta.
Hypothesis part : 0 <= q < 1.
Hypothesis smooth : smooth_above f grad L.
Hypothesis convex : tangent f grad 0.
Hypothesis noisy : forall t d, (t < K)%nat -> stochastic_gradient (next t d) (grad (point eta x d t)) sigma.
Hypothesis small : INR K * eta <= 1 / (6 * L).

Local Notation rv a := (a : Random (steps next K) V).
Local Notation u := (u (fun _ => grad) next K eta x xstar).
Local Notation w := (w (fun _ => grad) next K eta x).
Local Notation noise := (noise (fun _ => grad) next K eta x).
Local Notation local := (local (fun _ => grad) next K eta x).
Local Notation star := (star (fun _ => grad) next K xstar).
Local Notation far := (far next K x xstar).
Local Notation k_ := (INR K).

Lemma sq_star t : sq (vsum t star) = INR t ^ 2 * sq (grad xstar).
Proof.
  unfold sq. rewrite ip_vsums, (sum_ext t _ (fun _ => INR t * ip (grad xstar) (grad xstar))).
  - rewrite sum_const. ring.
  - intros i _. rewrite <- sum_const. apply sum_ext; intros j _. exact (E_const _ (ip (grad xstar) (grad xstar))).
Qed.

Lemma one_step t :
  (t < K)%nat ->
  2 * (ip (w t) (vsum t u) + ip (w t) (vsum t star) + q * ip (w t) (vsum t noise))
  <= sq (w t) / (eta * L)
     + eta * L * (60 * sq (vsum t u) + 61 / 59 * sq (vsum t star) + 61 / 59 * q ^ 2 * sq (vsum t noise)).
Proof.
  intro T. assert (P : 0 < eta * L) by (now apply Rmult_lt_0_compat).
  set (U := vsum t u). set (S := vsum t star). set (Z := vsum t noise).
  pose proof (young (eta * L) (add U (add S (scale q Z))) (w t) P) as Y.
  pose proof (young (59 / 2) U S ltac:(lra)) as A. pose proof (young (59 / 2) U (scale q Z) ltac:(lra)) as B.
  assert (O : ip S Z = 0).
  { rewrite ip_sym. apply (fresh_sum (fun _ => grad) next K sigma eta x noisy); [lia |].
    intros d e _. unfold S. rewrite !vsum_at. reflexivity. }
  unfold sq in *. products_in Y. products_in A. products_in B. products.
  rewrite (ip_sym S U), (ip_sym Z U), (ip_sym Z S), O, (ip_sym U (w t)), (ip_sym S (w t)), (ip_sym Z (w t)) in *.
  unfold Rdiv in *.
  assert (C : 2 * (ip U S + q * ip U Z) <= 59 * ip U U + 2 / 59 * ip S S + 2 / 59 * (q * (q * ip Z Z))) by lra.
  apply (Rmult_le_compat_l (eta * L)) in C; [| lra]. lra.
Qed.

Lemma client :
  let f_ := (1 - q) * eta in
  - (2 * f_) * ip (vsum K local) far + 2 * f_ ^ 2 * ip (vsum K local) (vsum K noise)
    + f_ * eta * k_ * sum K (fun t => sq (u t))
  <= - (2 * f_) * (k_ * (f x - f xstar))
     + f_ * eta ^ 2 * L * (61 / 59) * (k_ * (k_ - 1) * (2 * k_ - 1) / 6 * sq (grad xstar)
                                       + q ^ 2 * (k_ * (k_ - 1) / 2 * sigma ^ 2)).
Proof.
  intro f_. assert (F : 0 < f_) by (apply Rmult_lt_0_compat; lra).
  pose proof (chain (fun _ => f) (fun _ => grad) next K L sigma eta x xstar L_positive
    (fun _ _ => smooth) (fun _ _ => convex) noisy q ltac:(lra) ltac:(lra)) as C. cbv zeta in C. fold f_ in C.
  unfold gap_at_start in C. rewrite sum_const in C.
  pose proof (sums_before K u) as SU.
  pose proof (noise_so_far (fun _ => grad) next K sigma eta x noisy) as SZ.
  assert (SV : sum K (fun t => sq (vsum t star)) = k_ * (k_ - 1) * (2 * k_ - 1) / 6 * sq (grad xstar)).
  { rewrite <- sum_of_squares, (Rmult_comm _ (sq (grad xstar))), <- (sum_scale K _ (fun k => INR k ^ 2)).
    apply sum_ext; intros t _. rewrite sq_star. ring. }
  set (Su := sum K (fun t => sq (u t))) in *.
  assert (B : sum K (fun t => - (f_ / L) * (sq (u t) + sq (w t))
      + 2 * f_ * eta * (ip (w t) (vsum t u) + ip (w t) (vsum t star) + q * ip (w t) (vsum t noise)))
    <= - (f_ / L) * Su + f_ * eta ^ 2 * L * (60 * sum K (fun t => sq (vsum t u))
       + 61 / 59 * sum K (fun t => sq (vsum t star)) + 61 / 59 * q ^ 2 * sum K (fun t => sq (vsum t noise)))).
  { unfold Su. rewrite <- !sum_scale, <- !sum_add, <- !sum_scale, <- !sum_add. apply sum_le; intros t T.
    pose proof (one_step t T) as O. apply (Rmult_le_compat_l (f_ * eta)) in O; [| apply Rlt_le, Rmult_lt_0_compat; lra].
    replace (f_ * eta * (sq (w t) / (eta * L) + eta * L * (60 * sq (vsum t u) + 61 / 59 * sq (vsum t star)
      + 61 / 59 * q ^ 2 * sq (vsum t noise))))
      with (f_ / L * sq (w t) + f_ * eta ^ 2 * L * (60 * sq (vsum t u) + 61 / 59 * sq (vsum t star)
      + 61 / 59 * q ^ 2 * sq (vsum t noise))) in O by (field; lra).
    lra. }
  assert (P : 0 < f_ * eta ^ 2 * L) by (repeat apply Rmult_lt_0_compat; lra).
  apply (Rmult_le_compat_l (f_ * eta ^ 2 * L * 60)) in SU; [| lra].
  apply (Rmult_le_compat_l (f_ * eta ^ 2 * L * (61 / 59) * q ^ 2)) in SZ;
    [| apply Rmult_le_pos; [lra | apply pow2_ge_0]].
  rewrite SV in B.
  assert (N : - (f_ / L) * Su + f_ * eta * k_ * Su + f_ * eta ^ 2 * L * 60 * (k_ * (k_ - 1) / 2 * Su) <= 0).
  { set (h := k_ * eta * L).
    assert (H : 0 <= h <= 1 / 6).
    { split; [apply Rmult_le_pos; [apply Rmult_le_pos; [apply pos_INR |] |]; lra |].
      apply (Rmult_le_compat_r L) in small; [| lra]. unfold h.
      replace (1 / 6) with (1 / (6 * L) * L) by (field; lra). exact small. }
    replace (- (f_ / L) * Su + f_ * eta * k_ * Su + f_ * eta ^ 2 * L * 60 * (k_ * (k_ - 1) / 2 * Su))
      with (- (f_ / L * Su * (1 - h - 30 * h ^ 2 + 30 * (h * (eta * L))))) by (unfold h; field; lra).
    assert (0 <= f_ / L * Su).
    { apply Rmult_le_pos; [apply Rlt_le, Rdiv_lt_0_compat; lra | apply sum_least; intros; apply square]. }
    assert (0 <= h * (eta * L)) by (apply Rmult_le_pos; [lra | apply Rmult_le_pos; lra]).
    assert (0 <= 1 - h - 30 * h ^ 2) by nra.
    assert (0 <= f_ / L * Su * (1 - h - 30 * h ^ 2 + 30 * (h * (eta * L)))) by (apply Rmult_le_pos; lra). lra. }
  lra.
Qed.
End Client.
