(* Local steps one after another: x_0 = x, x_(t+1) = x_t - eta * d_t, with a stochastic gradient d_t of a function f_t.

   Both algorithms are made of this: in PFL each client takes K steps, in SFL the clients take M K steps in all. *)
Require Import Reals Lra Lia.
Require Import rules chance.
Open Scope R_scope.

(* Assumption 2, for one gradient: unbiased, with variance at most sigma^2 *)
Definition stochastic_gradient {V : Inner} (D : Dist V) (gradient : V) sigma :=
  (forall z, E D (fun g => ip g z) = ip gradient z) /\ E D (fun g => sq (sub g gradient)) <= sigma ^ 2.

Fixpoint point {V : Inner} (eta : R) (x : V) (d : nat -> V) (t : nat) : V :=
  match t with
  | O => x
  | S t => sub (point eta x d t) (scale eta (d t))
  end.

Lemma known_point {V : Inner} eta (x : V) t : known t (fun d => point eta x d t).
Proof.
  intros d e H. induction t; simpl; [reflexivity |]. rewrite IHt, H by (intros; try apply H; lia). reflexivity.
Qed.
Lemma ip_point {V : Inner} eta (x : V) d t z : ip (point eta x d t) z = ip x z - eta * ip (vsum t d) z.
Proof. induction t; simpl; products; [ring |]. rewrite IHt. ring. Qed.
Lemma known_vsum {V : Inner} t (f : nat -> (nat -> V) -> V) :
  (forall i, (i < t)%nat -> known t (f i)) -> known t (fun d => vsum t (fun i => f i d)).
Proof.
  intros K d e H. enough (forall s, (s <= t)%nat -> vsum s (fun i => f i d) = vsum s (fun i => f i e)) as G by (apply
    G; lia).
  induction s; intro I; simpl; [reflexivity |]. rewrite IHs by lia. f_equal. apply (K s); [lia | exact H].
Qed.
Lemma known_more {A B} s t (f : (nat -> A) -> B) : known s f -> (s <= t)%nat -> known t f.
Proof. intros K T d e H. apply K. intros; apply H; lia. Qed.

Section Steps.
Context {V : Inner}.
Variables (f : nat -> V -> R) (grad : nat -> V -> V) (next : nat -> (nat -> V) -> Dist V) (n : nat).
Variables (L sigma eta : R) (x xstar : V).
Hypothesis L_positive : 0 < L.
Hypothesis smooth : forall t, (t < n)%nat -> smooth_above (f t) (grad t) L.
Hypothesis convex : forall t, (t < n)%nat -> tangent (f t) (grad t) 0.
Hypothesis noise_bounded :
  forall t d, (t < n)%nat -> stochastic_gradient (next t d) (grad t (point eta x d t)) sigma.

Definition steps := loop zero next n.
Local Notation Rand := (Random steps V).

(* random vectors of step t *)
Definition gradient_ t : Rand := fun d => d t.
Definition local t : Rand := fun d => grad t (point eta x d t).
Definition noise t : Rand := fun d => sub (d t) (grad t (point eta x d t)).
Definition start t : Rand := fun _ => grad t x.
Definition star t : Rand := fun _ => grad t xstar.
Definition u t : Rand := fun d => sub (grad t (point eta x d t)) (grad t xstar).
Definition w t : Rand := fun d => sub (grad t x) (grad t (point eta x d t)).
Definition far : Rand := fun _ => sub x xstar.

Lemma known_local t : known t (local t).
Proof. intros d e H. unfold local. f_equal. now apply known_point. Qed.
Lemma known_noise t : known (S t) (noise t).
Proof.
  intros d e H. unfold noise. f_equal; [apply H; lia |]. apply known_local. intros; apply H; lia.
Qed.
Lemma known_sum t (y : nat -> Rand) : (forall i, (i < t)%nat -> known t (y i : _ -> V)) -> known t (vsum t y : _ -> V).
Proof. intros K d e H. rewrite !vsum_at. apply (known_vsum t y); assumption. Qed.

(* FRESH: noise has mean zero beside what is known before it is drawn *)
Lemma fresh t (y : Rand) : (t < n)%nat -> known t (y : _ -> V) -> ip (noise t) y = 0.
Proof.
  intros T K. rewrite ip_random. unfold steps.
  rewrite (E_earlier zero next (S t) n); [| | lia].
  2:{ intros d e H. f_equal; [now apply known_noise | apply K; intros; apply H; lia]. }
  rewrite E_next, <- (E_const (loop zero next t) 0). apply E_ext; intro d.
  destruct (noise_bounded t d T) as [M _].
  rewrite (E_ext _ _ (fun g => ip g (y d) - ip (local t d) (y d))).
  - rewrite E_sub, M, E_const. unfold local. ring.
  - intro g. unfold noise. rewrite set_at, (known_set t y t d g K), ip_sub by lia.
    fold (local t (set d t g)). now rewrite (known_set t (local t) t d g (known_local t)) by lia.
Qed.
Lemma variance t : (t < n)%nat -> sq (noise t) <= sigma ^ 2.
Proof.
  intro T. unfold sq at 1. rewrite ip_random. unfold steps.
  rewrite (E_earlier zero next (S t) n); [| | lia].
  2:{ intros d e H. f_equal; now apply known_noise. }
  rewrite E_next, <- (E_const (loop zero next t) (sigma ^ 2)). apply E_le; intro d.
  destruct (noise_bounded t d T) as [_ B]. eapply Rle_trans; [| exact B]. apply Req_le, E_ext; intro g.
  unfold noise. rewrite set_at. fold (local t (set d t g)).
  now rewrite (known_set t (local t) t d g (known_local t)) by lia.
Qed.

(* <sum of local gradients, sum of noise> = sum of <local gradient, noise before> *)
Lemma fresh_sum t (y : Rand) : (t <= n)%nat -> known 0 (y : _ -> V) -> ip (vsum t noise) y = 0.
Proof.
  intros T K. rewrite ip_vsum, (sum_ext t _ (fun _ => 0)); [rewrite sum_const; ring |].
  intros i I. apply fresh; [lia | apply (known_more 0); [exact K | lia]].
Qed.
Lemma successive_noise t : (t < n)%nat -> ip (noise t) (vsum t noise) = 0.
Proof.
  intro T. apply fresh; [exact T |]. apply known_sum. intros i I. apply (known_more (S i)); [apply known_noise | lia].
Qed.
Lemma beside_noise : ip (vsum n local) (vsum n noise) = sum n (fun t => ip (local t) (vsum t noise)).
Proof.
  rewrite (in_order n local noise), (sum_ext n (fun t => ip (local t) (noise t)) (fun _ => 0)),
    (sum_ext n (fun t => ip (noise t) (vsum t local)) (fun _ => 0)), !sum_const; [ring | |].
  - intros t T. apply fresh; [exact T |]. apply known_sum. intros i I. apply (known_more i); [apply known_local | lia].
  - intros t T. rewrite ip_sym. apply fresh; [exact T | apply known_local].
Qed.
Lemma all_noise t : (t <= n)%nat -> sq (vsum t noise) <= INR t * sigma ^ 2.
Proof. intro T. apply successive_bounded; intros; [apply successive_noise | apply variance]; lia. Qed.
Lemma noise_so_far : sum n (fun t => sq (vsum t noise)) <= INR n * (INR n - 1) / 2 * sigma ^ 2.
Proof. apply noise_before; intros; [now apply successive_noise | now apply variance]. Qed.
Lemma gradients_split : forall y : Rand, ip (vsum n gradient_) y = ip (vsum n local) y + ip (vsum n noise) y.
Proof.
  intro y. rewrite !ip_vsum, <- sum_add. apply sum_ext; intros t _. rewrite !ip_random, <- E_add. apply E_ext; intro d.
  unfold gradient_, local, noise. rewrite ip_sub. ring.
Qed.

Definition gap_at_start := sum n (fun t => f t x - f t xstar).

(* where the steps lead, seen from one step: both divergences of f_t at x_t, by COCOERCIVE *)
Lemma divergences t :
  (t < n)%nat ->
  - ip (local t) far
  <= - (f t x - f t xstar) - (sq (u t) + sq (w t)) / (2 * L)
     + eta * (ip (w t) (vsum t u) + ip (w t) (vsum t star) + ip (w t) (vsum t noise)).
Proof.
  intro T. rewrite !ip_vsum_r. unfold sq. rewrite !ip_random, !(sum_ext t _ _ (fun i _ => ip_random _ _)).
  rewrite <- (E_const steps (f t x - f t xstar)), <- !E_sum, <- !E_add, <- E_scale.
  unfold Rdiv. rewrite (Rmult_comm (E _ _)), <- E_scale.
  replace (- E steps (fun a => ip (local t a) (far a))) with (-1 * E steps (fun a => ip (local t a) (far a))) by ring.
  replace (- E steps (fun _ => f t x - f t xstar)) with (-1 * E steps (fun _ => f t x - f t xstar)) by ring.
  rewrite <- !E_scale, <- E_sub, <- E_add. apply E_le; intro d.
  set (y := point eta x d t).
  pose proof (cocoercive (f t) (grad t) L y xstar L_positive (smooth t T) (convex t T)) as A.
  pose proof (cocoercive (f t) (grad t) L x y L_positive (smooth t T) (convex t T)) as B.
  assert (U : sq (sub (grad t xstar) (grad t y)) = ip (u t d) (u t d)).
  { unfold u, sq. fold y. products. ring. }
  assert (W : sq (sub (grad t y) (grad t x)) = ip (w t d) (w t d)).
  { unfold w, sq. fold y. products. ring. }
  rewrite U in A. rewrite W in B. rewrite ip_sub_r in A, B.
  assert (D : forall z, ip z y = ip z x - eta * (sum t (fun i => ip z (u i d)) + sum t (fun i => ip z (star i d))
    + sum t (fun i => ip z (noise i d)))).
  { intro z. unfold y. rewrite (ip_sym z (point _ _ _ _)), ip_point, ip_vsum, (ip_sym x z), <- !sum_add.
    f_equal. f_equal. apply sum_ext; intros i _. unfold u, star, noise. rewrite !ip_sub_r, (ip_sym z (d i)). ring. }
  pose proof (D (grad t x)) as D1. pose proof (D (grad t y)) as D2.
  assert (W_sum : forall r : nat -> V,
    sum t (fun i => ip (w t d) (r i)) = sum t (fun i => ip (grad t x) (r i)) - sum t (fun i => ip (grad t y) (r i))).
  { intro r. rewrite <- sum_sub. apply sum_ext; intros i _. apply ip_sub. }
  rewrite (W_sum (fun i => u i d)), (W_sum (fun i => star i d)), (W_sum (fun i => noise i d)).
  unfold local, far. fold y. rewrite ip_sub_r.
  unfold Rdiv in A, B. lra.
Qed.

(* the same for all steps; f = (1 - q) eta: what is left of the noise stands beside w *)
Lemma chain q :
  0 <= q <= 1 -> 0 <= eta ->
  let f_ := (1 - q) * eta in
  - (2 * f_) * ip (vsum n local) far + 2 * f_ ^ 2 * ip (vsum n local) (vsum n noise)
  <= - (2 * f_) * gap_at_start
     + sum n (fun t => - (f_ / L) * (sq (u t) + sq (w t))
         + 2 * f_ * eta * (ip (w t) (vsum t u) + ip (w t) (vsum t star) + q * ip (w t) (vsum t noise))).
Proof.
  intros Q H f_. rewrite beside_noise, ip_vsum, <- !sum_scale. unfold gap_at_start. rewrite <- sum_scale, <- !sum_add.
  apply sum_le; intros t T. pose proof (divergences t T) as D.
  assert (Z : ip (local t) (vsum t noise) = - ip (w t) (vsum t noise)).
  { pose proof (fresh_sum t (start t) ltac:(lia) ltac:(intros d e _; reflexivity)) as Z. rewrite ip_sym in Z.
    enough (ip (w t) (vsum t noise) = ip (start t) (vsum t noise) - ip (local t) (vsum t noise)) by lra.
    rewrite !ip_random, <- E_sub. apply E_ext; intro d. apply ip_sub. }
  rewrite Z. assert (P : 0 <= f_) by (apply Rmult_le_pos; lra).
  apply (Rmult_le_compat_l (2 * f_)) in D; [| lra].
  replace (2 * f_ * (- (f t x - f t xstar) - (sq (u t) + sq (w t)) / (2 * L)
     + eta * (ip (w t) (vsum t u) + ip (w t) (vsum t star) + ip (w t) (vsum t noise))))
   with (- (2 * f_) * (f t x - f t xstar) - f_ / L * (sq (u t) + sq (w t))
     + 2 * f_ * eta * (ip (w t) (vsum t u) + ip (w t) (vsum t star) + ip (w t) (vsum t noise))) in D by (field; lra).
  unfold f_ in *. lra.
Qed.
End Steps.
