(* Finite chance: a distribution is a finite list of weighted values, an expectation is a weighted sum.

   A random choice that depends on an earlier one is `bind`; the inner expectation in `E_bind` is the conditional one. *)
Require Import Reals Lra Lia Arith List.
Require Import rules.
Import ListNotations.
Open Scope R_scope.

(* w_1 f(a_1) + ... + w_n f(a_n) *)
Fixpoint weigh {A} (l : list (R * A)) (f : A -> R) : R :=
  match l with
  | [] => 0
  | (w, a) :: rest => w * f a + weigh rest f
  end.

Lemma weigh_ext {A} l (f g : A -> R) : (forall a, f a = g a) -> weigh l f = weigh l g.
Proof. intro H. induction l as [| [w a] l IH]; simpl; [reflexivity | now rewrite H, IH]. Qed.
Lemma weigh_add {A} l (f g : A -> R) : weigh l (fun a => f a + g a) = weigh l f + weigh l g.
Proof. induction l as [| [w a] l IH]; simpl; [lra | rewrite IH; ring]. Qed.
Lemma weigh_scale {A} l c (f : A -> R) : weigh l (fun a => c * f a) = c * weigh l f.
Proof. induction l as [| [w a] l IH]; simpl; [lra | rewrite IH; ring]. Qed.
Lemma weigh_app {A} l m (f : A -> R) : weigh (l ++ m) f = weigh l f + weigh m f.
Proof. induction l as [| [w a] l IH]; simpl; [lra | rewrite IH; ring]. Qed.

Definition nonnegative {A} (l : list (R * A)) := Forall (fun p => 0 <= fst p) l.

Record Dist (A : Type) := {
  outcomes : list (R * A);
  weights : nonnegative outcomes;
  total : weigh outcomes (fun _ => 1) = 1
}.
Arguments outcomes {A}.
Arguments weights {A}.
Arguments total {A}.

Definition E {A} (D : Dist A) (f : A -> R) : R := weigh (outcomes D) f.

(* every outcome of D has the property *)
Definition sure {A} (D : Dist A) (P : A -> Prop) := Forall (fun p => P (snd p)) (outcomes D).

Definition ret {A} (a : A) : Dist A.
Proof.
  refine {| outcomes := [(1, a)] |}; [repeat constructor; simpl; lra | simpl; lra].
Defined.

Definition times {A} w (l : list (R * A)) := map (fun p => (w * fst p, snd p)) l.
Lemma weigh_times {A} w l (f : A -> R) : weigh (times w l) f = w * weigh l f.
Proof. induction l as [| [v a] l IH]; simpl; [lra | rewrite IH; ring]. Qed.

Fixpoint binds {A B} (l : list (R * A)) (f : A -> Dist B) : list (R * B) :=
  match l with
  | [] => []
  | (w, a) :: rest => times w (outcomes (f a)) ++ binds rest f
  end.
Lemma weigh_binds {A B} l (f : A -> Dist B) g : weigh (binds l f) g = weigh l (fun a => E (f a) g).
Proof. induction l as [| [w a] l IH]; simpl; [reflexivity | now rewrite weigh_app, weigh_times, IH]. Qed.
Lemma binds_nonnegative {A B} l (f : A -> Dist B) : nonnegative l -> nonnegative (binds l f).
Proof.
  induction 1 as [| [w a] l W _ IH]; simpl; [constructor |]. apply Forall_app; split; [| exact IH].
  apply Forall_map. eapply Forall_impl; [| exact (weights (f a))]. intros [v b]; simpl in *. now apply Rmult_le_pos.
Qed.

Definition bind {A B} (D : Dist A) (f : A -> Dist B) : Dist B.
Proof.
  refine {| outcomes := binds (outcomes D) f |}.
  - apply binds_nonnegative, weights.
  - rewrite weigh_binds. etransitivity; [| exact (total D)]. apply weigh_ext; intro a. apply total.
Defined.

Notation "a <- D ; rest" := (bind D (fun a => rest)) (at level 100, D at next level, right associativity).

(* ---- Expectation ---- *)

Lemma E_ret {A} (a : A) f : E (ret a) f = f a.
Proof. unfold E; simpl; ring. Qed.
Lemma E_bind {A B} D (f : A -> Dist B) g : E (bind D f) g = E D (fun a => E (f a) g).
Proof. apply weigh_binds. Qed.
Lemma E_ext {A} (D : Dist A) f g : (forall a, f a = g a) -> E D f = E D g.
Proof. apply weigh_ext. Qed.
Lemma E_add {A} (D : Dist A) f g : E D (fun a => f a + g a) = E D f + E D g.
Proof. apply weigh_add. Qed.
Lemma E_scale {A} (D : Dist A) c f : E D (fun a => c * f a) = c * E D f.
Proof. apply weigh_scale. Qed.
Lemma E_const {A} (D : Dist A) c : E D (fun _ => c) = c.
Proof.
  rewrite (E_ext D _ (fun _ => c * 1)) by (intro; ring). rewrite E_scale. unfold E. rewrite total. ring.
Qed.
Lemma E_sub {A} (D : Dist A) f g : E D (fun a => f a - g a) = E D f - E D g.
Proof.
  rewrite (E_ext D _ (fun a => f a + -1 * g a)) by (intro; ring). rewrite E_add, E_scale. ring.
Qed.
Lemma E_sum {A} (D : Dist A) n (f : nat -> A -> R) : E D (fun a => sum n (fun i => f i a)) = sum n (fun i => E D (f i)).
Proof. induction n; simpl; [apply E_const |]. now rewrite E_add, IHn. Qed.
Lemma E_least {A} (D : Dist A) f : (forall a, 0 <= f a) -> 0 <= E D f.
Proof.
  intro H. unfold E. pose proof (weights D) as W. induction W as [| [w a] l W _ IH]; simpl in *; [lra |].
  apply Rplus_le_le_0_compat; [now apply Rmult_le_pos | exact IH].
Qed.
Lemma E_le {A} (D : Dist A) f g : (forall a, f a <= g a) -> E D f <= E D g.
Proof.
  intro H. enough (0 <= E D (fun a => g a - f a)) as P by (rewrite E_sub in P; lra).
  apply E_least; intro a. specialize (H a). lra.
Qed.
Lemma E_sure_le {A} (D : Dist A) P f g : sure D P -> (forall a, P a -> f a <= g a) -> E D f <= E D g.
Proof.
  intros S H. unfold E. unfold sure in S. pose proof (weights D) as W.
  induction S as [| [w a] l Q _ IH]; simpl in *; [lra |]. inversion W; subst.
  apply Rplus_le_compat; [apply Rmult_le_compat_l; auto | now apply IH].
Qed.
Lemma sure_ret {A} (a : A) (P : A -> Prop) : P a -> sure (ret a) P.
Proof. now repeat constructor. Qed.
Lemma sure_bind {A B} D (f : A -> Dist B) Q P : sure D Q -> (forall a, Q a -> sure (f a) P) -> sure (bind D f) P.
Proof.
  intros S H. unfold sure in *; simpl. induction S as [| [w a] l q _ IH]; simpl in *; [constructor |].
  apply Forall_app; split; [| exact IH]. apply Forall_map. eapply Forall_impl; [| exact (H a q)]. now intros [].
Qed.

(* ---- Random vectors, with the mean product: also a space, so that the rules hold for them ---- *)

Definition Random {A} (D : Dist A) (V : Inner) : Inner.
Proof.
  refine {| carrier := A -> V;
            zero := fun _ => zero;
            add := fun x y a => add (x a) (y a);
            scale := fun c x a => scale c (x a);
            ip := fun x y => E D (fun a => ip (x a) (y a)) |}; intros.
  - apply E_ext; intro; apply ip_sym.
  - rewrite <- (E_const D 0). apply E_ext; intro; apply ip_zero.
  - rewrite <- E_add. apply E_ext; intro; apply ip_add.
  - rewrite <- E_scale. apply E_ext; intro; apply ip_scale.
  - apply E_least; intro; apply ip_pos.
Defined.

Lemma ip_random {A} {D : Dist A} {V : Inner} (x y : Random D V) :
  ip x y = E D (fun a => ip ((x : A -> V) a) ((y : A -> V) a)).
Proof. reflexivity. Qed.
Lemma vsum_at {A} {D : Dist A} {V : Inner} n (x : nat -> Random D V) a :
  vsum n x a = vsum n (fun i => (x i : A -> V) a).
Proof. induction n; simpl; [reflexivity | now rewrite IHn]. Qed.

(* ---- A loop that remembers: draw number t may depend on the draws 0 ... t - 1 ---- *)

Definition set {A} (d : nat -> A) t (a : A) : nat -> A := fun i => if Nat.eqb i t then a else d i.
Lemma set_at {A} (d : nat -> A) t a : set d t a t = a.
Proof. unfold set. now rewrite Nat.eqb_refl. Qed.
Lemma set_other {A} (d : nat -> A) t a i : i <> t -> set d t a i = d i.
Proof. unfold set. intro N. destruct (Nat.eqb_spec i t); [contradiction | reflexivity]. Qed.

Fixpoint loop {A} (none : A) (next : nat -> (nat -> A) -> Dist A) (n : nat) : Dist (nat -> A) :=
  match n with
  | O => ret (fun _ => none)
  | S t => d <- loop none next t; a <- next t d; ret (set d t a)
  end.

(* f is a function of the draws 0 ... t - 1 *)
Definition known {A B} t (f : (nat -> A) -> B) := forall d e, (forall i, (i < t)%nat -> d i = e i) -> f d = f e.

Lemma known_set {A B} t (f : (nat -> A) -> B) s d a : known t f -> (t <= s)%nat -> f (set d s a) = f d.
Proof.
  intros K T. apply K. intros i I. apply set_other. intros ->.
  now apply (Nat.lt_irrefl s), (Nat.lt_le_trans _ t).
Qed.

Section Loop.
Context {A : Type} (none : A) (next : nat -> (nat -> A) -> Dist A).

Lemma E_next t f : E (loop none next (S t)) f = E (loop none next t) (fun d => E (next t d) (fun a => f (set d t a))).
Proof. simpl. rewrite E_bind. apply E_ext; intro d. rewrite E_bind. apply E_ext; intro a. apply E_ret. Qed.

(* later draws do not matter to what is known before them *)
Lemma E_earlier t n f : known t f -> (t <= n)%nat -> E (loop none next n) f = E (loop none next t) f.
Proof.
  intros K T. induction T as [| n T IH]; [reflexivity |]. rewrite E_next, <- IH. apply E_ext; intro d.
  rewrite <- (E_const (next n d) (f d)). apply E_ext; intro a. now apply (known_set t).
Qed.
End Loop.

(* ---- Independent draws ---- *)

Lemma E_swap {A B} (D : Dist A) (D' : Dist B) f : E D (fun a => E D' (f a)) = E D' (fun b => E D (fun a => f a b)).
Proof.
  unfold E at 1 4. induction (outcomes D) as [| [w a] l IH]; simpl; [symmetry; apply E_const |].
  rewrite IH, E_add, E_scale. reflexivity.
Qed.

Section Independent.
Context {A : Type} {V : Inner} (none : A) (c : nat -> Dist A).
Definition independently := loop none (fun m _ => c m).

Lemma E_marginal n m f : (m < n)%nat -> E (independently n) (fun ds => f (ds m)) = E (c m) f.
Proof.
  intro M. unfold independently. rewrite (E_earlier _ _ (S m) n (fun ds => f (ds m))); [| | exact M].
  2:{ intros d e H. rewrite H by apply Nat.lt_succ_diag_r. reflexivity. }
  rewrite E_next, <- (E_const (loop none (fun m _ => c m) m)). apply E_ext; intro d. apply E_ext; intro a.
    now rewrite set_at.
Qed.
(* what has mean zero for one client has mean zero beside anything of another client *)
Lemma E_apart n i j (x y : A -> V) :
  (i < n)%nat -> (j < n)%nat -> i <> j -> (forall z, E (c j) (fun d => ip (y d) z) = 0) ->
  E (independently n) (fun ds => ip (x (ds i)) (y (ds j))) = 0.
Proof.
  intros I J N Z. set (f ds := ip (x (ds i)) (y (ds j))). destruct (Nat.lt_gt_cases i j) as [L _].
  destruct (L N) as [H | H].
  - unfold independently. rewrite (E_earlier _ _ (S j) n f); [| | exact J].
    2:{ intros d e G. unfold f. rewrite !G; [reflexivity | apply Nat.lt_succ_diag_r |]. now apply Nat.lt_lt_succ_r. }
    rewrite E_next, <- (E_const (loop none (fun m _ => c m) j) 0). apply E_ext; intro d.
    rewrite <- (Z (x (d i))). apply E_ext; intro a. unfold f. rewrite set_at, set_other by exact N. apply ip_sym.
  - unfold independently. rewrite (E_earlier _ _ (S i) n f); [| | exact I].
    2:{ intros d e G. unfold f. rewrite !G; [reflexivity | | apply Nat.lt_succ_diag_r]. now apply Nat.lt_lt_succ_r. }
    rewrite E_next. rewrite (E_ext _ _ (fun d => E (c i) (fun a => ip (x a) (y (d j))))).
    2:{ intro d. apply E_ext; intro a. unfold f. rewrite set_at, set_other by auto. reflexivity. }
    fold (independently i). rewrite (E_marginal i j (fun b => E (c i) (fun a => ip (x a) (y b))) H), E_swap,
      <- (E_const (c i) 0).
    apply E_ext; intro a. rewrite <- (Z (x a)). apply E_ext; intro b. apply ip_sym.
Qed.
End Independent.
