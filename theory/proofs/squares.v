(* The proof of a best constant (squares.py): upper * amount - objective is a combination of conditions that are >= 0, with
   multipliers >= 0, plus a form in inner products that is a sum of squares.  `proves` computes both in fractions. *)
Require Import Reals Lra Lia List QArith Qreals rules.
Import ListNotations.
Open Scope R_scope.

(* ---- Fractions, kept small ---- *)

Definition plus (a b : Q) : Q := Qred (a + b).
Definition times (a b : Q) : Q := Qred (a * b).
Definition is_zero (a : Q) : bool := Z.eqb (Qnum a) 0.
Definition is_least (a : Q) : bool := Z.leb 0 (Qnum a).
Definition is_positive (a : Q) : bool := Z.ltb 0 (Qnum a).

Lemma plus_ok a b : Q2R (plus a b) = Q2R a + Q2R b.
Proof. unfold plus. rewrite (Qeq_eqR _ _ (Qred_correct _)). apply Q2R_plus. Qed.
Lemma times_ok a b : Q2R (times a b) = Q2R a * Q2R b.
Proof. unfold times. rewrite (Qeq_eqR _ _ (Qred_correct _)). apply Q2R_mult. Qed.
Lemma inverse_ok a : Q2R a <> 0 -> Q2R (/ a) = / Q2R a.
Proof. intro N. apply Q2R_inv. intro E. apply N. rewrite (Qeq_eqR _ _ E). apply RMicromega.Q2R_0. Qed.
Lemma zero_ok a : is_zero a = true -> Q2R a = 0.
Proof. intro H. apply Z.eqb_eq in H. unfold Q2R. rewrite H. ring. Qed.
Lemma least_ok a : is_least a = true -> 0 <= Q2R a.
Proof.
  intro H. apply Z.leb_le in H. apply Rle_mult_inv_pos; [apply IZR_le, H | apply IZR_lt; reflexivity].
Qed.
Lemma positive_ok a : is_positive a = true -> 0 < Q2R a.
Proof. intro H. apply Z.ltb_lt in H. apply Rdiv_lt_0_compat; [apply IZR_lt, H | apply IZR_lt; reflexivity]. Qed.

(* ---- Forms: products of vectors, and numbers, by their places ---- *)

Inductive part := Product (i j : nat) | Number (i : nat).
Definition form : Set := list (Q * part).

(* a fraction as it is written in a statement *)
Definition written (q : Q) : R :=
  match Qden q with
  | xH => IZR (Qnum q)
  | d => IZR (Qnum q) / IZR (Zpos d)
  end.
Lemma written_ok q : written q = Q2R q.
Proof. destruct q as [n d]. unfold written, Q2R, Rdiv. simpl. destruct d; try reflexivity. field. Qed.

Definition scaled (m : Q) (f : form) : form := map (fun t => (times m (fst t), snd t)) f.

Section Values.
Context {V : Inner} (xs : list V) (fs : list R).

Definition one (p : part) : R :=
  match p with
  | Product i j => ip (nth i xs zero) (nth j xs zero)
  | Number i => nth i fs 0
  end.
(* as a statement says it: without the 0 at the end, and its sums from the left *)
Fixpoint shown_from (start : R) (f : form) : R :=
  match f with
  | [] => start
  | (c, p) :: rest => shown_from (start + written c * one p) rest
  end.
Definition shown (f : form) : R :=
  match f with
  | [] => 0
  | (c, p) :: rest => shown_from (written c * one p) rest
  end.
Fixpoint value (f : form) : R :=
  match f with
  | [] => 0
  | (c, p) :: rest => Q2R c * one p + value rest
  end.
Lemma shown_ok f : shown f = value f.
Proof.
  assert (H : forall r a, shown_from a r = a + value r).
  { induction r as [| [c p] r IH]; intro a; simpl; [ring |]. rewrite IH, written_ok. ring. }
  destruct f as [| [c p] r]; simpl; [reflexivity |]. rewrite H, written_ok. reflexivity.
Qed.
Lemma value_app f h : value (f ++ h) = value f + value h.
Proof. induction f as [| [c p] f IH]; simpl; [ring |]. rewrite IH. ring. Qed.
Lemma value_scaled m f : value (scaled m f) = Q2R m * value f.
Proof. induction f as [| [c p] f IH]; simpl; [ring |]. rewrite IH, times_ok. ring. Qed.
End Values.

(* ---- A form as a matrix: the rows of its upper triangle, each with its diagonal first ---- *)

Definition row : Set := Q * list Q.

Fixpoint put (k : nat) (c : Q) (l : list Q) : list Q :=
  match k, l with
  | O, a :: l => plus a c :: l
  | S k, a :: l => a :: put k c l
  | _, [] => []
  end.
Fixpoint put_product (i j : nat) (c : Q) (rows : list row) : list row :=
  match i, j, rows with
  | O, O, (p, s) :: rest => (plus p c, s) :: rest
  | O, S j, (p, s) :: rest => (p, put j c s) :: rest
  | S i, S j, (p, s) :: rest => (p, s) :: put_product i j c rest
  | _, _, _ => rows
  end.
Fixpoint no_rows (n : nat) : list row :=
  match n with
  | O => []
  | S n => (0%Q, repeat 0%Q n) :: no_rows n
  end.
Definition ordered (i j : nat) (c : Q) := if (i <=? j)%nat then put_product i j c else put_product j i c.
(* the rows and the numbers of a form *)
Fixpoint gathered_form (f : form) (rows : list row) (numbers : list Q) : list row * list Q :=
  match f with
  | [] => (rows, numbers)
  | (c, Product i j) :: rest => gathered_form rest (ordered i j c rows) numbers
  | (c, Number i) :: rest => gathered_form rest rows (put i c numbers)
  end.
Definition inside (n m : nat) (f : form) : bool :=
  forallb (fun t => match snd t with Product i j => (i <? n)%nat && (j <? n)%nat | Number i => (i <? m)%nat end) f.

(* ---- A sum of squares, by elimination ---- *)

(* the row minus b times s *)
Fixpoint minus (r : list Q) (b : Q) (s : list Q) : list Q :=
  match r, s with
  | a :: r, c :: s => (if is_zero c then a else plus a (- (b * c))) :: minus r b s
  | _, _ => []
  end.
(* the rows minus ||s_1 x_1 + ...||^2 / (4 p) *)
Fixpoint lower (q : Q) (s : list Q) (rows : list row) : list row :=
  match s, rows with
  | a :: s, (c, r) :: rows =>
      (if is_zero a then (c, r) else let b := times a q in (plus c (- (a * b)), minus r (2 * b) s)) :: lower q s rows
  | _, _ => []
  end.
Fixpoint squares (fuel : nat) (rows : list row) : bool :=
  match fuel, rows with
  | _, [] => true
  | O, _ => false
  | S fuel, (p, s) :: rows =>
      if is_positive p then squares fuel (lower (Qred (/ (4 * p))) s rows)
      else is_zero p && forallb is_zero s && squares fuel rows
  end.

(* Whether multipliers and a sum of squares prove that objective <= upper * amount for n vectors and m numbers *)
Definition gap (upper : Q) (amount objective : form) (used : list (Q * form)) : form :=
  scaled upper amount ++ scaled (-1) objective ++ flat_map (fun t => scaled (- fst t) (snd t)) used.
Definition proves (n m : nat) (upper : Q) (amount objective : form) (used : list (Q * form)) : bool :=
  let f := gap upper amount objective used in
  let (rows, numbers) := gathered_form f (no_rows n) (repeat 0%Q m) in
  forallb (fun t => is_least (fst t)) used && inside n m f && forallb is_zero numbers && squares n rows.

(* ---- Why this is enough ---- *)

Section Sound.
Context {V : Inner}.
Implicit Types (xs : list V) (x z : V).

Fixpoint comb (s : list Q) xs : V :=
  match s, xs with
  | a :: s, x :: xs => add (scale (Q2R a) x) (comb s xs)
  | _, _ => zero
  end.
Fixpoint tri (rows : list row) xs : R :=
  match rows, xs with
  | (p, s) :: rows, x :: xs => Q2R p * sq x + ip (comb s xs) x + tri rows xs
  | _, _ => 0
  end.
Fixpoint numeric (l : list Q) (fs : list R) : R :=
  match l, fs with
  | a :: l, f :: fs => Q2R a * f + numeric l fs
  | _, _ => 0
  end.
Fixpoint shaped (n : nat) (rows : list row) : Prop :=
  match n, rows with
  | O, [] => True
  | S n, (_, s) :: rows => length s = n /\ shaped n rows
  | _, _ => False
  end.

Lemma put_length k c l : length (put k c l) = length l.
Proof. revert k; induction l; destruct k; simpl; auto. Qed.
Lemma put_numeric c l : forall k fs, (k < length l)%nat -> length fs = length l ->
  numeric (put k c l) fs = numeric l fs + Q2R c * nth k fs 0.
Proof.
  induction l; intros k fs K L; simpl in K; [lia |]. destruct fs as [| f fs]; [discriminate |].
  destruct k; simpl; [rewrite plus_ok; ring |]. rewrite IHl by (simpl in L; lia). ring.
Qed.
Lemma put_comb c l z : forall k xs, (k < length l)%nat -> length xs = length l ->
  ip (comb (put k c l) xs) z = ip (comb l xs) z + Q2R c * ip (nth k xs zero) z.
Proof.
  induction l; intros k xs K L; simpl in K; [lia |]. destruct xs as [| x xs]; [discriminate |].
  destruct k; simpl; products; [rewrite plus_ok; ring |]. rewrite IHl by (simpl in L; lia). ring.
Qed.
Lemma put_shaped n : forall i j c rows, shaped n rows -> shaped n (put_product i j c rows).
Proof.
  induction n; intros i j c [| [p s] rows] H; try (destruct i, j; exact H).
  destruct H as [L H]. destruct i, j; simpl; rewrite ?put_length; auto.
Qed.
Lemma put_tri n : forall i j c rows xs, shaped n rows -> length xs = n -> (i <= j)%nat -> (j < n)%nat ->
  tri (put_product i j c rows) xs = tri rows xs + Q2R c * ip (nth i xs zero) (nth j xs zero).
Proof.
  induction n; intros i j c [| [p s] rows] xs H L I J; try lia; [easy |].
  destruct H as [E H]. destruct xs as [| x xs]; [discriminate |]. injection L as L.
  destruct i, j; try lia; simpl.
  - rewrite plus_ok. unfold sq. ring.
  - rewrite put_comb by lia. rewrite (ip_sym x). ring.
  - rewrite IHn by (assumption || lia). ring.
Qed.
Lemma ordered_tri n i j c rows xs : shaped n rows -> length xs = n -> (i < n)%nat -> (j < n)%nat ->
  shaped n (ordered i j c rows) /\
  tri (ordered i j c rows) xs = tri rows xs + Q2R c * ip (nth i xs zero) (nth j xs zero).
Proof.
  intros H L I J. unfold ordered. destruct (Nat.leb_spec i j).
  - split; [now apply put_shaped | now apply (put_tri n)].
  - split; [now apply put_shaped |]. rewrite (ip_sym (nth i xs zero)). apply (put_tri n); auto; lia.
Qed.
Lemma no_rows_shaped n : shaped n (no_rows n).
Proof. induction n; simpl; auto using repeat_length. Qed.
Lemma no_comb n xs z : ip (comb (repeat 0%Q n) xs) z = 0.
Proof. revert xs; induction n; intros [| x xs]; simpl; products; try reflexivity. rewrite IHn, RMicromega.Q2R_0. ring. Qed.
Lemma no_rows_tri n xs : tri (no_rows n) xs = 0.
Proof. revert xs; induction n; intros [| x xs]; simpl; try reflexivity. rewrite IHn, no_comb, RMicromega.Q2R_0. ring. Qed.
Lemma no_numbers m fs : numeric (repeat 0%Q m) fs = 0.
Proof. revert fs; induction m; intros [| f fs]; simpl; try reflexivity. rewrite IHm, RMicromega.Q2R_0. ring. Qed.
Lemma zero_numbers l fs : forallb is_zero l = true -> numeric l fs = 0.
Proof.
  revert fs; induction l; intros [| f fs] H; simpl; try reflexivity. simpl in H. apply andb_prop in H as [A H].
  rewrite (zero_ok _ A), IHl by assumption. ring.
Qed.
Lemma zero_comb l xs z : forallb is_zero l = true -> ip (comb l xs) z = 0.
Proof.
  revert xs; induction l; intros [| x xs] H; simpl; products; try reflexivity. simpl in H. apply andb_prop in H as [A H].
  rewrite (zero_ok _ A), IHl by assumption. ring.
Qed.
Lemma gathered_ok n m f : forall rows numbers xs fs,
  shaped n rows -> length xs = n -> length numbers = m -> length fs = m -> inside n m f = true ->
  let (rows', numbers') := gathered_form f rows numbers in
  shaped n rows' /\ tri rows' xs + numeric numbers' fs = tri rows xs + numeric numbers fs + value xs fs f.
Proof.
  induction f as [| [c [i j | i]] f IH]; intros rows numbers xs fs H L A B I; simpl.
  - split; [exact H | ring].
  - simpl in I. apply andb_prop in I as [J I]. apply andb_prop in J as [J K].
    apply Nat.ltb_lt in J. apply Nat.ltb_lt in K. destruct (ordered_tri n i j c rows xs H L J K) as [H' E].
    specialize (IH (ordered i j c rows) numbers xs fs H' L A B I). destruct (gathered_form _ _ _).
    destruct IH as [S E']. split; [exact S |]. rewrite E', E. ring.
  - simpl in I. apply andb_prop in I as [J I]. apply Nat.ltb_lt in J.
    assert (A' : length (put i c numbers) = m) by (now rewrite put_length).
    specialize (IH rows (put i c numbers) xs fs H L A' B I). destruct (gathered_form _ _ _).
    destruct IH as [S E']. split; [exact S |]. rewrite E', put_numeric by congruence. ring.
Qed.

Lemma minus_length r b s : length r = length s -> length (minus r b s) = length r.
Proof. revert s; induction r; intros [| c s] H; simpl in *; auto. Qed.
Lemma minus_comb r b : forall s xs z, length r = length s ->
  ip (comb (minus r b s) xs) z = ip (comb r xs) z - Q2R b * ip (comb s xs) z.
Proof.
  induction r; intros [| c s] xs z H; try discriminate; [destruct xs; simpl; products; ring |].
  destruct xs as [| x xs]; simpl; products; [ring |]. rewrite IHr by (simpl in H; lia).
  destruct (is_zero c) eqn:Z; [rewrite (zero_ok _ Z); ring |]. rewrite plus_ok, Q2R_opp, Q2R_mult. ring.
Qed.
Lemma Q2R_2 : Q2R 2 = 2.
Proof. unfold Q2R; simpl. field. Qed.
Lemma lower_ok n q : forall s rows xs, shaped n rows -> length s = n -> length xs = n ->
  shaped n (lower q s rows) /\ tri (lower q s rows) xs = tri rows xs - Q2R q * sq (comb s xs).
Proof.
  induction n; intros [| a s] [| [c r] rows] xs H L X; try discriminate; try easy.
  - destruct xs; [| discriminate]. simpl. split; [exact I | products; ring].
  - destruct xs as [| x xs]; [discriminate |]. destruct H as [E H]. injection L as L. injection X as X.
    destruct (IHn s rows xs H L X) as [S T]. simpl. destruct (is_zero a) eqn:Z.
    + split; [simpl; auto |]. simpl. rewrite T. unfold sq. products. rewrite (zero_ok _ Z). ring.
    + split; [simpl; rewrite minus_length; auto; congruence |]. simpl.
      rewrite T, plus_ok, Q2R_opp, minus_comb, !Q2R_mult, !times_ok, Q2R_2 by congruence. unfold sq. products.
      rewrite (ip_sym x (comb s xs)). ring.
Qed.
Lemma squares_ok fuel : forall n rows xs,
  squares fuel rows = true -> shaped n rows -> length xs = n -> 0 <= tri rows xs.
Proof.
  induction fuel; intros n [| [p s] rows] xs H S X; try discriminate; try (simpl; lra).
  destruct n; [easy |]. destruct S as [L S]. destruct xs as [| x xs]; [discriminate |]. injection X as X.
  simpl in H. destruct (is_positive p) eqn:P.
  - apply positive_ok in P. destruct (lower_ok n (Qred (/ (4 * p))) s rows xs S L X) as [S' T].
    pose proof (IHfuel n _ xs H S' X) as B. rewrite T, (Qeq_eqR _ _ (Qred_correct _)) in B.
    rewrite inverse_ok in B; rewrite Q2R_mult in *; replace (Q2R 4) with 4 in * by (unfold Q2R; simpl; field); [| lra].
    pose proof (ip_pos (add (scale (2 * Q2R p) x) (comb s xs))) as Q. products_in Q. simpl. unfold sq in *.
    rewrite (ip_sym x (comb s xs)) in Q. apply (Rmult_le_compat_l (/ (4 * Q2R p))) in Q;
      [| apply Rlt_le, Rinv_0_lt_compat; lra].
    match type of Q with _ <= ?r => replace r with
      (Q2R p * ip x x + ip (comb s xs) x + / (4 * Q2R p) * ip (comb s xs) (comb s xs)) in Q by (field; lra) end.
    lra.
  - apply andb_prop in H as [H H']. apply andb_prop in H as [Z H]. simpl.
    rewrite (zero_ok _ Z), (zero_comb _ _ _ H). pose proof (IHfuel n rows xs H' S X). lra.
Qed.

(* the conditions, as a statement says them *)
Fixpoint given xs (fs : list R) (used : list (Q * form)) : Prop :=
  match used with
  | [] => True
  | (_, f) :: rest => 0 <= shown xs fs f /\ given xs fs rest
  end.
Lemma used_least xs fs used : forallb (fun t => is_least (fst t)) used = true -> given xs fs used ->
  value xs fs (flat_map (fun t => scaled (- fst t) (snd t)) used) <= 0.
Proof.
  induction used as [| [m f] used IH]; intros H G; simpl; [lra |]. simpl in H, G. apply andb_prop in H as [M H].
  destruct G as [F G]. rewrite shown_ok in F. rewrite value_app, value_scaled, Q2R_opp. specialize (IH H G).
  apply least_ok in M. pose proof (Rmult_le_pos _ _ M F). lra.
Qed.
Theorem by_squares xs fs upper amount objective used :
  proves (length xs) (length fs) upper amount objective used = true -> given xs fs used ->
  shown xs fs objective <= written upper * shown xs fs amount.
Proof.
  unfold proves. intros H G. set (f := gap upper amount objective used) in *.
  assert (I : inside (length xs) (length fs) f = true).
  { destruct (gathered_form _ _ _). apply andb_prop in H as [H _]. apply andb_prop in H as [H _].
    now apply andb_prop in H as [_ H]. }
  pose proof (gathered_ok (length xs) (length fs) f (no_rows (length xs)) (repeat 0%Q (length fs)) xs fs
    (no_rows_shaped _) eq_refl (repeat_length _ _) eq_refl I) as E.
  destruct (gathered_form _ _ _) as [rows numbers]. destruct E as [S E].
  apply andb_prop in H as [H Q]. apply andb_prop in H as [H N]. apply andb_prop in H as [M _].
  rewrite (zero_numbers _ _ N), no_rows_tri, no_numbers in E. pose proof (squares_ok _ _ _ xs Q S eq_refl) as T.
  unfold f, gap in E. rewrite !value_app, !value_scaled in E. pose proof (used_least xs fs used M G).
  rewrite !shown_ok, written_ok. replace (Q2R (-1)) with (-1) in E by (unfold Q2R; simpl; field). lra.
Qed.
End Sound.
