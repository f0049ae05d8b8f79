(* A uniformly random order of a list: one element after another, each of those left with the same chance. *)
Require Import Reals Lra Lia List Permutation.
Require Import rules chance.
Import ListNotations.
Open Scope R_scope.

Fixpoint lsum {A} (l : list A) (f : A -> R) : R := match l with [] => 0 | a :: l => f a + lsum l f end.
Fixpoint lvsum {A} {V : Inner} (l : list A) (f : A -> V) : V :=
  match l with [] => zero | a :: l => add (f a) (lvsum l f) end.

Lemma lsum_add {A} (l : list A) f g : lsum l (fun a => f a + g a) = lsum l f + lsum l g.
Proof. induction l; simpl; [lra | rewrite IHl; ring]. Qed.
Lemma lsum_scale {A} (l : list A) c f : lsum l (fun a => c * f a) = c * lsum l f.
Proof. induction l; simpl; [lra | rewrite IHl; ring]. Qed.
Lemma lsum_const {A} (l : list A) c : lsum l (fun _ => c) = INR (length l) * c.
Proof. induction l; [simpl; lra |]. cbn [lsum length]. rewrite IHl, S_INR; ring. Qed.
Lemma lsum_in {A} (l : list A) f g : (forall a, In a l -> f a = g a) -> lsum l f = lsum l g.
Proof. induction l; simpl; intro H; [reflexivity |]. rewrite IHl, H; auto. Qed.
Lemma lsum_map {A B} (l : list A) (h : A -> B) f : lsum (map h l) f = lsum l (fun a => f (h a)).
Proof. induction l; simpl; [reflexivity | now rewrite IHl]. Qed.
Lemma lsum_permutation {A} (l m : list A) f : Permutation l m -> lsum l f = lsum m f.
Proof. induction 1; simpl; lra. Qed.
Lemma ip_lvsum {A} {V : Inner} (l : list A) (f : A -> V) z : ip (lvsum l f) z = lsum l (fun a => ip (f a) z).
Proof. induction l; simpl; products; [reflexivity | now rewrite IHl]. Qed.
Lemma lsum_nth {A} (l : list A) none f : sum (length l) (fun p => f (nth p l none)) = lsum l f.
Proof. induction l; [reflexivity |]. cbn [length]. rewrite sum_first. simpl. now rewrite <- IHl. Qed.
Lemma lsum_seq n f : lsum (seq 0 n) f = sum n f.
Proof.
  rewrite <- (lsum_nth (seq 0 n) O f), seq_length. apply sum_ext; intros i I. now rewrite seq_nth.
Qed.

(* each element with the others *)
Fixpoint splits {A} (l : list A) : list (A * list A) :=
  match l with
  | [] => []
  | a :: l => (a, l) :: map (fun p => (fst p, a :: snd p)) (splits l)
  end.
Lemma splits_length {A} (l : list A) : length (splits l) = length l.
Proof. induction l; simpl; [reflexivity | now rewrite map_length, IHl]. Qed.
Lemma splits_permutation {A} (l : list A) p : In p (splits l) -> Permutation (fst p :: snd p) l.
Proof.
  revert p. induction l as [| a l IH]; simpl; intros p H; [contradiction |]. destruct H as [<- | H]; [reflexivity |].
  apply in_map_iff in H. destruct H as [q [<- Q]]. simpl. rewrite perm_swap. constructor. now apply IH.
Qed.
Lemma splits_first {A} (l : list A) f : lsum (splits l) (fun p => f (fst p)) = lsum l f.
Proof. induction l; simpl; [reflexivity |]. rewrite lsum_map. simpl. now rewrite IHl. Qed.

(* each of a :: l with the same chance *)
Definition uniformly {A} (a : A) (l : list A) : Dist A.
Proof.
  refine {| outcomes := map (fun b => (/ INR (S (length l)), b)) (a :: l) |}.
  - apply Forall_map, Forall_forall. intros b _. apply Rlt_le, Rinv_0_lt_compat, lt_0_INR. simpl; lia.
  - assert (G : forall c m, weigh (map (fun b : A => (c, b)) m) (fun _ => 1) = INR (length m) * c).
    { intros c m. induction m; [simpl; lra |]. cbn [map weigh length]. rewrite IHm, S_INR. ring. }
    rewrite G. cbn [length]. field. apply not_0_INR. lia.
Defined.
Lemma E_uniformly {A} (a : A) l f : E (uniformly a l) f = lsum (a :: l) f / INR (length (a :: l)).
Proof.
  unfold E, uniformly, outcomes. unfold Rdiv. rewrite Rmult_comm, <- lsum_scale. cbn [length].
  induction (a :: l) as [| b m IH]; cbn [map weigh lsum]; [reflexivity | now rewrite IH].
Qed.

Fixpoint order {A} (n : nat) (l : list A) : Dist (list A) :=
  match n, splits l with
  | S n, s :: ss => p <- uniformly s ss; rest <- order n (snd p); ret (fst p :: rest)
  | _, _ => ret []
  end.
(* a uniformly random permutation of the clients 0, ..., M - 1 *)
Definition permutation M : Dist (list nat) := order M (seq 0 M).

Lemma E_order {A} n (l : list A) f :
  length l = S n ->
  E (order (S n) l) f
  = lsum (splits l) (fun p => E (order n (snd p)) (fun rest => f (fst p :: rest))) / INR (S n).
Proof.
  intro N. simpl. pose proof (splits_length l) as S. destruct (splits l) as [| s ss]; [simpl in S; lia |].
  rewrite E_bind, E_uniformly, S, N. f_equal. apply lsum_in; intros p _. rewrite E_bind. apply E_ext; intro. apply E_ret.
Qed.
Lemma order_sure {A} n (l : list A) : length l = n -> sure (order n l) (fun o => Permutation o l).
Proof.
  revert l. induction n as [| n IH]; intros l N.
  - destruct l; [| discriminate]. apply sure_ret. constructor.
  - simpl. pose proof (splits_permutation l) as P. pose proof (splits_length l) as S.
    destruct (splits l) as [| s ss] eqn:Q; [simpl in S; lia |].
    apply (sure_bind _ _ (fun p => In p (s :: ss))).
    + unfold sure, uniformly, outcomes. apply Forall_map, Forall_forall. intros b B. exact B.
    + intros p I. specialize (P p I). apply (sure_bind _ _ (fun o => Permutation o (snd p))).
      * apply IH. apply Permutation_length in P. simpl in P. lia.
      * intros o O. apply sure_ret. rewrite O. exact P.
Qed.

(* ---- Sums along a random order: each vector beside the sum of those before it ---- *)

Section Along.
Context {A : Type} {V : Inner} (s v : A -> V).

Fixpoint squares (a : V) (l : list A) : R := match l with [] => 0 | x :: l => sq a + squares (add a (s x)) l end.
Fixpoint crossed (a : V) (l : list A) : R := match l with [] => 0 | x :: l => ip (v x) a + crossed (add a (s x)) l end.

Lemma E_squares n l a :
  length l = n ->
  E (order n l) (squares a)
  = INR n * sq a + (INR n - 1) * ip a (lvsum l s) + (INR n - 2) / 3 * sq (lvsum l s)
    + (INR n + 1) / 6 * lsum l (fun x => sq (s x)).
Proof.
  revert l a. induction n as [| n IH]; intros l a N.
  - destruct l; [| discriminate]. simpl. rewrite E_ret. simpl. products. lra.
  - rewrite (E_order n l _ N).
    set (Y := lvsum l s). set (Q := lsum l (fun x => sq (s x))).
    set (g := fun x => (sq a + INR n * sq a + (INR n - 1) * ip a Y + (INR n - 2) / 3 * sq Y
      + (INR n + 1) / 6 * Q) + ((INR n + 1) * ip a (s x) + ((INR n - 1) - 2 * ((INR n - 2) / 3)) * ip (s x) Y
      + (INR n - (INR n - 1) + (INR n - 2) / 3 - (INR n + 1) / 6) * sq (s x))).
    rewrite (lsum_in _ _ (fun p => g (fst p))).
    + rewrite (splits_first l g). unfold g. rewrite lsum_add, lsum_const, N, !lsum_add, !lsum_scale.
      rewrite (lsum_in l (fun x => ip a (s x)) (fun x => ip (s x) a)) by (intros; apply ip_sym).
      rewrite <- !ip_lvsum. fold Y Q. rewrite (ip_sym Y a), S_INR. fold (sq Y). pose proof (pos_INR n). field. lra.
    + intros p I. apply splits_permutation in I. unfold g.
      pose proof (Permutation_length I) as Z. simpl in Z.
      rewrite (E_ext _ _ (fun rest => sq a + squares (add a (s (fst p))) rest)) by reflexivity.
      rewrite E_add, E_const, IH by lia.
      assert (Y1 : forall z, ip (lvsum (snd p) s) z = ip Y z - ip (s (fst p)) z).
      { intro z. unfold Y. rewrite !ip_lvsum, <- (lsum_permutation _ _ _ I). simpl. ring. }
      assert (Q1 : lsum (snd p) (fun x => sq (s x)) = Q - sq (s (fst p))).
      { unfold Q. rewrite <- (lsum_permutation _ _ _ I). simpl. ring. }
      assert (Y2 : forall z, ip z (lvsum (snd p) s) = ip Y z - ip (s (fst p)) z) by (intro; now rewrite ip_sym).
      rewrite Q1. unfold sq. products. rewrite !Y1, !Y2, (ip_sym Y a), (ip_sym Y (s (fst p))),
        (ip_sym (s (fst p)) a). field.
Qed.

Lemma E_crossed n l a :
  length l = n ->
  E (order n l) (crossed a)
  = ip (lvsum l v) a + / 2 * (ip (lvsum l v) (lvsum l s) - lsum l (fun x => ip (v x) (s x))).
Proof.
  revert l a. induction n as [| n IH]; intros l a N.
  - destruct l; [| discriminate]. simpl. rewrite E_ret. simpl. products. lra.
  - rewrite (E_order n l _ N).
    set (Y := lvsum l s). set (X := lvsum l v). set (P := lsum l (fun x => ip (v x) (s x))).
    set (g := fun x => (ip X a + / 2 * (ip X Y - P))
      + (/ 2 * ip (s x) X - / 2 * ip (v x) Y)).
    rewrite (lsum_in _ _ (fun p => g (fst p))).
    + rewrite (splits_first l g). unfold g. unfold Rminus at 2. rewrite lsum_add, lsum_const, N, lsum_add.
      rewrite (lsum_in l (fun x => - (/ 2 * ip (v x) Y)) (fun x => - / 2 * ip (v x) Y)) by (intros; ring).
      rewrite !lsum_scale, <- !ip_lvsum. fold Y X P. rewrite (ip_sym Y X), S_INR. pose proof (pos_INR n). field. lra.
    + intros p I. apply splits_permutation in I. unfold g.
      pose proof (Permutation_length I) as Z. simpl in Z.
      rewrite (E_ext _ _ (fun rest => ip (v (fst p)) a + crossed (add a (s (fst p))) rest)) by reflexivity.
      rewrite E_add, E_const, IH by lia.
      assert (Y1 : forall z, ip (lvsum (snd p) s) z = ip Y z - ip (s (fst p)) z).
      { intro z. unfold Y. rewrite !ip_lvsum, <- (lsum_permutation _ _ _ I). simpl. ring. }
      assert (X1 : forall z, ip (lvsum (snd p) v) z = ip X z - ip (v (fst p)) z).
      { intro z. unfold X. rewrite !ip_lvsum, <- (lsum_permutation _ _ _ I). simpl. ring. }
      assert (P1 : lsum (snd p) (fun x => ip (v x) (s x)) = P - ip (v (fst p)) (s (fst p))).
      { unfold P. rewrite <- (lsum_permutation _ _ _ I). simpl. ring. }
      assert (Y2 : forall z, ip z (lvsum (snd p) s) = ip Y z - ip (s (fst p)) z) by (intro; now rewrite ip_sym).
      rewrite P1, !X1. products. rewrite !Y2, (ip_sym X (s (fst p))), (ip_sym (s (fst p)) (v (fst p))),
        (ip_sym Y X), (ip_sym Y (v (fst p))). field.
Qed.

(* as sums over the positions *)
Lemma sq_same (x y : V) : (forall z, ip x z = ip y z) -> sq x = sq y.
Proof. intro H. unfold sq. now rewrite H, ip_sym, H. Qed.
Lemma ip_vsum_first n (f : nat -> V) z : ip (vsum (S n) f) z = ip (f O) z + ip (vsum n (fun i => f (S i))) z.
Proof. rewrite !ip_vsum, sum_first. reflexivity. Qed.
Lemma squares_at none l a :
  squares a l = sum (length l) (fun p => sq (add a (vsum p (fun i => s (nth i l none))))).
Proof.
  revert a. induction l as [| x l IH]; intro a; [reflexivity |]. cbn [squares length]. rewrite sum_first, IH. f_equal.
  - apply sq_same. intro z. simpl. products. ring.
  - apply sum_ext; intros p _. apply sq_same. intro z. products. rewrite ip_vsum_first. simpl. ring.
Qed.
Lemma crossed_at none l a :
  crossed a l = sum (length l) (fun p => ip (v (nth p l none)) (add a (vsum p (fun i => s (nth i l none))))).
Proof.
  revert a. induction l as [| x l IH]; intro a; [reflexivity |]. cbn [crossed length]. rewrite sum_first, IH. f_equal.
  - simpl. products. ring.
  - apply sum_ext; intros p _. rewrite (ip_sym (v (nth p l none))), (ip_sym (v _)). products. rewrite ip_vsum_first.
    simpl. ring.
Qed.
End Along.
