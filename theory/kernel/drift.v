(* Drift in local steps without noise, for every number of clients and of steps, about the algorithms themselves: FedAvg with
   clients in parallel (PFL, Algorithm 2, sfl.lemma14.corrected) and one after another (SFL, Algorithm 1, sfl.lemma10).

   V      any space with an inner product
   gradF  the clients' gradients, L-Lipschitz; the functions need not be convex *)
Require Import Reals Lra Lia List Permutation.
Require Import rules chance order steps runs.
Require sfl.
Open Scope R_scope.

(* a local step at y, of length eta, along a gradient g *)
Definition local_step {V : Inner} (eta : R) (g : V -> V) (y : V) : V := sub y (scale eta (g y)).
(* x_(m,k), where client c 0 takes the first step from x, client c 1 the second ... *)
Fixpoint path {V : Inner} (eta : R) (gradF : nat -> V -> V) (c : nat -> nat) (x : V) (t : nat) : V :=
  match t with O => x | S t => local_step eta (gradF (c t)) (path eta gradF c x t) end.

Definition delta (L eta : R) (t : nat) : R := ((1 + eta * L) ^ t - 1) / L.
Definition lipschitz {V : Inner} (L : R) (g : V -> V) : Prop := forall a b, sq (sub (g a) (g b)) <= L ^ 2 * sq (sub a b).

Section Step.
Context {V : Inner}.
Variables (g : V -> V) (L eta : R) (x : V).
Hypothesis L_positive : 0 < L.
Hypothesis eta_positive : 0 < eta.
Hypothesis smooth : lipschitz L g.
Local Notation q := (1 + eta * L).

Lemma q_positive : 0 < eta * L /\ 0 < q.
Proof. pose proof (Rmult_lt_0_compat eta L eta_positive L_positive). lra. Qed.
Lemma delta_start : delta L eta 0 = 0.
Proof. unfold delta, Rdiv. simpl. ring. Qed.
Lemma delta_next t : delta L eta (S t) = q * delta L eta t + eta.
Proof. unfold delta. simpl. field. lra. Qed.
Lemma delta_positive t : 0 < delta L eta (S t).
Proof.
  destruct q_positive as [_ Q]. induction t; rewrite delta_next; [rewrite delta_start; lra |].
  pose proof (Rmult_lt_0_compat q (delta L eta (S t)) Q IHt). lra.
Qed.

(* the step is (y - x - eta (g y - g x)) - eta g x *)
Lemma step_squared y :
  sq (sub (local_step eta g y) x)
  = sq (add (add (sub y x) (scale (- eta) (sub (g y) (g x)))) (scale (- eta) (g x))).
Proof. apply sq_same. intro z. unfold local_step. products. ring. Qed.
Lemma moved y : sq (add (sub y x) (scale (- eta) (sub (g y) (g x)))) <= q ^ 2 * sq (sub y x).
Proof.
  destruct q_positive as [P _].
  pose proof (young_sum (eta * L) (sub y x) (scale (- eta) (sub (g y) (g x))) P) as Y.
  replace (sq (scale (- eta) (sub (g y) (g x)))) with (eta ^ 2 * sq (sub (g y) (g x))) in Y by (products; ring).
  pose proof (smooth y x) as H.
  apply (Rmult_le_compat_l ((1 + 1 / (eta * L)) * eta ^ 2)) in H.
  - eapply Rle_trans; [exact Y |].
    replace (q ^ 2 * sq (sub y x))
      with (q * sq (sub y x) + (1 + 1 / (eta * L)) * eta ^ 2 * (L ^ 2 * sq (sub y x))) by (field; lra).
    lra.
  - apply Rmult_le_pos; [| apply pow2_ge_0]. pose proof (Rinv_0_lt_compat _ P). unfold Rdiv. lra.
Qed.

(* how much farther a step leads from where the distance is d; at first, where y is x *)
Definition farther d := (1 + eta / (q * d)) * q ^ 2.
Definition along d := (1 + 1 / (eta / (q * d))) * eta ^ 2.
Lemma first_step : sq (sub (local_step eta g x) x) = eta ^ 2 * sq (g x).
Proof. unfold local_step. products. rewrite (ip_sym (g x) x). ring. Qed.
Lemma next_step d y : 0 < d -> sq (sub (local_step eta g y) x) <= farther d * sq (sub y x) + along d * sq (g x).
Proof.
  intro D. destruct q_positive as [_ Q]. pose proof (Rmult_lt_0_compat _ _ Q D) as QD.
  assert (T : 0 < eta / (q * d)) by (apply Rdiv_lt_0_compat; lra).
  rewrite step_squared. unfold farther, along.
  pose proof (young_sum _ (add (sub y x) (scale (- eta) (sub (g y) (g x)))) (scale (- eta) (g x)) T) as Y.
  replace (sq (scale (- eta) (g x))) with (eta ^ 2 * sq (g x)) in Y by (products; ring).
  pose proof (moved y) as M. apply (Rmult_le_compat_l (1 + eta / (q * d))) in M; [| lra]. lra.
Qed.
Lemma farther_least d : 0 < d -> 0 <= farther d.
Proof.
  intro D. destruct q_positive as [_ Q]. pose proof (Rmult_lt_0_compat _ _ Q D) as QD.
  assert (T : 0 < eta / (q * d)) by (apply Rdiv_lt_0_compat; lra).
  apply Rmult_le_pos; [lra | apply pow2_ge_0].
Qed.
Lemma closed t : farther (delta L eta (S t)) * delta L eta (S t) ^ 2 + along (delta L eta (S t)) = delta L eta (S (S t)) ^ 2.
Proof.
  rewrite (delta_next (S t)). pose proof (delta_positive t) as D. destruct q_positive as [_ Q]. unfold farther, along.
  field. repeat split; lra.
Qed.
End Step.

(* A random order of the clients: at each place each of them is as likely *)
Lemma rest_of_splits {A} (l : list A) (f : A -> R) :
  lsum (splits l) (fun p => lsum (snd p) f) = (INR (length l) - 1) * lsum l f.
Proof.
  rewrite (lsum_in (splits l) _ (fun p => lsum l f + -1 * f (fst p))).
  - rewrite lsum_add, lsum_const, lsum_scale, splits_first, splits_length. ring.
  - intros p I. apply splits_permutation in I. rewrite <- (lsum_permutation _ _ f I). simpl. ring.
Qed.
Lemma E_place {A} (f : A -> R) none n (l : list A) p :
  length l = n -> (p < n)%nat -> E (order n l) (fun o => f (nth p o none)) = lsum l f / INR n.
Proof.
  revert l p. induction n as [| n IH]; intros l p N P; [lia |]. rewrite E_order by exact N.
  destruct p; cbn [nth].
  - rewrite (lsum_in _ _ (fun p => f (fst p))) by (intros; apply E_const). now rewrite splits_first.
  - assert (Z : INR n <> 0) by (apply not_0_INR; lia). assert (Z' : INR n + 1 <> 0) by (rewrite <- S_INR; apply
      not_0_INR; lia).
    rewrite (lsum_in _ _ (fun s => / INR n * lsum (snd s) f)).
    + rewrite lsum_scale, rest_of_splits, N, S_INR. field. split; assumption.
    + intros s I. apply splits_permutation, Permutation_length in I. simpl in I. rewrite IH by lia. unfold Rdiv. ring.
Qed.

Section Drift.
Context {V : Inner}.
Variables (M K : nat) (gradF : nat -> V -> V) (L eta : R) (x : V).
Hypothesis some : (0 < M)%nat.
Hypothesis L_positive : 0 < L.
Hypothesis eta_positive : 0 < eta.
Hypothesis smooth : forall m, (m < M)%nat -> lipschitz L (gradF m).
Local Notation G := (sum M (fun m => sq (gradF m x)) / INR M).

(* client m alone *)
Lemma distance m t : (m < M)%nat ->
  sq (sub (path eta gradF (fun _ => m) x t) x) <= delta L eta t ^ 2 * sq (gradF m x).
Proof.
  intro I. induction t; [simpl; rewrite (delta_start L eta); products; apply Req_le; ring |]. destruct t.
  - simpl. rewrite first_step, delta_next, delta_start by exact L_positive. apply Req_le. ring.
  - simpl path. eapply Rle_trans; [apply (next_step _ L) with (d := delta L eta (S t)); auto using delta_positive |].
    rewrite <- (closed L eta) by assumption.
    apply (Rmult_le_compat_l (farther L eta (delta L eta (S t)))) in IHt; [| apply farther_least; auto using
      delta_positive].
    simpl path in IHt. lra.
Qed.

(* the clients one after another, K steps each *)
Local Notation at_ pi := (fun t => nth (t / K) pi 0%nat).
Lemma in_turn t : (t < M * K)%nat -> (t / K < M)%nat.
Proof. intro I. apply Nat.div_lt_upper_bound; lia. Qed.
Lemma mean_gradient t : (t < M * K)%nat -> E (permutation M) (fun pi => sq (gradF (nth (t / K) pi 0%nat) x)) = G.
Proof.
  intro I. unfold permutation. rewrite (E_place (fun m => sq (gradF m x))) by (rewrite ?seq_length; auto using in_turn).
  now rewrite lsum_seq.
Qed.
Lemma mean_distance t : (t <= M * K)%nat ->
  E (permutation M) (fun pi => sq (sub (path eta gradF (at_ pi) x t) x)) <= delta L eta t ^ 2 * G.
Proof.
  induction t; intro I.
  - rewrite (delta_start L eta). rewrite (E_ext _ _ (fun _ => 0)) by (intro; simpl; products; ring). rewrite E_const. lra.
  - pose proof (mean_gradient t I) as Z. destruct t.
    + rewrite (E_ext _ _ (fun pi => eta ^ 2 * sq (gradF (nth (0 / K) pi 0%nat) x))) by (intro; apply first_step).
      rewrite E_scale, Z, delta_next, delta_start by exact L_positive. apply Req_le. ring.
    + specialize (IHt ltac:(lia)). pose proof (delta_positive L eta L_positive eta_positive t) as D.
      eapply Rle_trans.
      * apply (E_sure_le _ (fun pi => Permutation pi (seq 0 M)) _
          (fun pi => farther L eta (delta L eta (S t)) * sq (sub (path eta gradF (at_ pi) x (S t)) x)
                     + along L eta (delta L eta (S t)) * sq (gradF (nth (S t / K) pi 0%nat) x))).
        -- apply order_sure, seq_length.
        -- intros pi O. apply (next_step _ L); auto. apply smooth, (sfl.each_client M pi O), in_turn. exact I.
      * rewrite E_add, !E_scale, Z, <- (closed L eta) by assumption.
        apply (Rmult_le_compat_l (farther L eta (delta L eta (S t)))) in IHt; [| now apply farther_least]. lra.
Qed.
End Drift.

Definition drift (L eta : R) (n : nat) : R := sum n (fun t => (((1 + eta * L) ^ t - 1) / L) ^ 2).

(* Ecal_r of sfl.lemma14.corrected, without noise *)
Theorem parallel :
  forall (V : Inner) (M K : nat) (gradF : nat -> V -> V) (L eta : R) (x : V),
  (0 < M)%nat -> 0 < L -> 0 < eta -> (forall m, (m < M)%nat -> lipschitz L (gradF m)) ->
  sum K (fun k => sum M (fun m => sq (sub (path eta gradF (fun _ => m) x k) x)) / INR M)
  <= drift L eta K * (sum M (fun m => sq (gradF m x)) / INR M).
Proof.
  intros V M K gradF L eta x some L_positive eta_positive smooth.
  unfold drift. rewrite Rmult_comm, <- sum_scale. apply sum_le; intros k _.
  assert (I : 0 < / INR M) by (apply Rinv_0_lt_compat, lt_0_INR; exact some).
  change (((1 + eta * L) ^ k - 1) / L) with (delta L eta k). unfold Rdiv at 1 2.
  replace (sum M (fun m => sq (gradF m x)) * / INR M * delta L eta k ^ 2)
    with (delta L eta k ^ 2 * sum M (fun m => sq (gradF m x)) * / INR M) by ring.
  apply Rmult_le_compat_r; [lra |]. rewrite <- sum_scale. apply sum_le; intros m H.
  now apply (distance M).
Qed.

(* E_r of sfl.lemma10, without noise, where all clients take part *)
Theorem sequential :
  forall (V : Inner) (M K : nat) (gradF : nat -> V -> V) (L eta : R) (x : V),
  (0 < M)%nat -> 0 < L -> 0 < eta -> (forall m, (m < M)%nat -> lipschitz L (gradF m)) ->
  E (permutation M) (fun pi =>
    sum (M * K) (fun t => sq (sub (path eta gradF (fun t => nth (t / K) pi 0%nat) x t) x)))
  <= drift L eta (M * K) * (sum M (fun m => sq (gradF m x)) / INR M).
Proof.
  intros V M K gradF L eta x some L_positive eta_positive smooth. rewrite E_sum.
  unfold drift. rewrite Rmult_comm, <- sum_scale. apply sum_le; intros t I. rewrite Rmult_comm.
  apply mean_distance; auto. lia.
Qed.

(* No smaller number is enough, whatever the space: all clients have the gradient v - L (y - x) *)
Theorem needed :
  forall (V : Inner) (M K : nat) (L eta : R) (x v : V), (0 < M)%nat -> 0 < L ->
  exists gradF : nat -> V -> V,
  (forall m, lipschitz L (gradF m)) /\ (forall m, sq (gradF m x) = sq v) /\
  forall c t, sq (sub (path eta gradF c x t) x) = (((1 + eta * L) ^ t - 1) / L) ^ 2 * sq v.
Proof.
  intros V M K L eta x v some L_positive. exists (fun _ y => sub v (scale L (sub y x))). repeat split.
  - intros m a b. rewrite (sq_same _ (scale (- L) (sub a b))) by (intro z; products; ring). apply Req_le. products. ring.
  - intro m. apply sq_same. intro z. products. ring.
  - intros c t. change (((1 + eta * L) ^ t - 1) / L) with (delta L eta t).
    assert (P : forall z, ip (sub (path eta (fun _ y => sub v (scale L (sub y x))) c x t) x) z
      = ip (scale (- delta L eta t) v) z).
    { induction t; intro z.
      - rewrite delta_start. products. simpl. ring.
      - rewrite delta_next by exact L_positive. specialize (IHt z). simpl path. unfold local_step. products.
        products_in IHt. nra. }
    rewrite (sq_same _ _ P). products. ring.
Qed.
