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
Fixpoint minus (reduce : Q -> Q) (r : list Q) (b : Q) (s : list Q) : list Q :=
  match r, s with
  | a :: r, c :: s => (if is_zero c then a else reduce (a + - (b * c))%Q) :: minus reduce r b s
  | _, _ => []
  end.
(* the rows minus q ||s_1 x_1 + ...||^2 *)
Fixpoint lower (reduce : Q -> Q) (q : Q) (s : list Q) (rows : list row) : list row :=
  match s, rows with
  | a :: s, (c, r) :: rows =>
      (if is_zero a then (c, r) else let b := reduce (a * q)%Q in (reduce (c + - (a * b))%Q, minus reduce r (2 * b) s))
      :: lower reduce q s rows
  | _, _ => []
  end.
Fixpoint squares (fuel : nat) (rows : list row) : bool :=
  match fuel, rows with
  | _, [] => true
  | O, _ => false
  | S fuel, (p, s) :: rows =>
      if is_positive p then squares fuel (lower Qred (Qred (/ (4 * p))) s rows)
      else is_zero p && forallb is_zero s && squares fuel rows
  end.

(* For large matrices elimination takes long.  Then integer vectors s are told, close to a Cholesky factor: what is left of
   the rows, less q times the squares of s, is dominated by its diagonal. *)
Fixpoint merged_row (r : list Q) (q : Q) (t : list Q) : list Q :=
  match r, t with
  | a :: r, c :: t => plus a (q * c) :: merged_row r q t
  | _, _ => []
  end.
Fixpoint merged (rows : list row) (q : Q) (others : list row) : list row :=
  match rows, others with
  | (c, r) :: rows, (e, t) :: others => (plus c (q * e), merged_row r q t) :: merged rows q others
  | _, _ => []
  end.
Definition half (a : Q) : Q := ((if is_least a then a else - a) * (1 # 2))%Q.
Fixpoint added (l m : list Q) : list Q :=
  match l, m with
  | a :: l, c :: m => plus a c :: added l m
  | _, _ => []
  end.
Definition all (l : list Q) : Q := fold_right plus 0%Q l.
(* debts: what rows before leave to be covered by the diagonal *)
Fixpoint dominant (debts : list Q) (rows : list row) : bool :=
  match debts, rows with
  | [], [] => true
  | d :: debts, (c, s) :: rows =>
      let halves := map half s in
      (length debts =? length s)%nat && is_least (c - d - all halves) && dominant (added debts halves) rows
  | _, _ => false
  end.
Definition enough (n : nat) (q : Q) (roots : list (list Q)) (rows : list row) : bool :=
  match roots with
  | [] => squares n rows
  | _ =>
      is_least q && forallb (fun s => length s =? n)%nat roots
      && dominant (repeat 0%Q n) (merged rows q (fold_left (fun t s => lower (fun a => a) 1 s t) roots (no_rows n)))
  end.
(* Whether multipliers and a sum of squares prove that objective <= upper * amount for n vectors and m numbers *)
Definition gap (upper : Q) (amount objective : form) (used : list (Q * form)) : form :=
  scaled upper amount ++ scaled (-1) objective ++ flat_map (fun t => scaled (- fst t) (snd t)) used.
Definition proves
  (n m : nat) (upper : Q) (amount objective : form) (used : list (Q * form)) (q : Q) (roots : list (list Q)) : bool :=
  let f := gap upper amount objective used in
  let (rows, numbers) := gathered_form f (no_rows n) (repeat 0%Q m) in
  forallb (fun t => is_least (fst t)) used && inside n m f && forallb is_zero numbers && enough n q roots rows.

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

Definition keeps (reduce : Q -> Q) := forall a, Q2R (reduce a) = Q2R a.
Lemma reduced : keeps Qred.
Proof. intro a. apply Qeq_eqR, Qred_correct. Qed.
Lemma minus_length reduce r b s : length r = length s -> length (minus reduce r b s) = length r.
Proof. revert s; induction r; intros [| c s] H; simpl in *; auto. Qed.
Lemma minus_comb reduce r b : keeps reduce -> forall s xs z, length r = length s ->
  ip (comb (minus reduce r b s) xs) z = ip (comb r xs) z - Q2R b * ip (comb s xs) z.
Proof.
  intro K. induction r; intros [| c s] xs z H; try discriminate; [destruct xs; simpl; products; ring |].
  destruct xs as [| x xs]; simpl; products; [ring |]. rewrite IHr by (simpl in H; lia).
  destruct (is_zero c) eqn:Z; [rewrite (zero_ok _ Z); ring |]. rewrite K, Q2R_plus, Q2R_opp, Q2R_mult. ring.
Qed.
Lemma Q2R_2 : Q2R 2 = 2.
Proof. unfold Q2R; simpl. field. Qed.
Lemma lower_ok reduce n q : keeps reduce -> forall s rows xs, shaped n rows -> length s = n -> length xs = n ->
  shaped n (lower reduce q s rows) /\ tri (lower reduce q s rows) xs = tri rows xs - Q2R q * sq (comb s xs).
Proof.
  intro K. induction n; intros [| a s] [| [c r] rows] xs H L X; try discriminate; try easy.
  - destruct xs; [| discriminate]. simpl. split; [exact I | products; ring].
  - destruct xs as [| x xs]; [discriminate |]. destruct H as [E H]. injection L as L. injection X as X.
    destruct (IHn s rows xs H L X) as [S T]. simpl. destruct (is_zero a) eqn:Z.
    + split; [simpl; auto |]. simpl. rewrite T. unfold sq. products. rewrite (zero_ok _ Z). ring.
    + split; [simpl; rewrite minus_length; auto; congruence |]. simpl.
      rewrite T, K, Q2R_plus, Q2R_opp, minus_comb, !Q2R_mult, K, Q2R_mult, Q2R_2 by congruence. unfold sq. products.
      rewrite (ip_sym x (comb s xs)). ring.
Qed.
Lemma squares_ok fuel : forall n rows xs,
  squares fuel rows = true -> shaped n rows -> length xs = n -> 0 <= tri rows xs.
Proof.
  induction fuel; intros n [| [p s] rows] xs H S X; try discriminate; try (simpl; lra).
  destruct n; [easy |]. destruct S as [L S]. destruct xs as [| x xs]; [discriminate |]. injection X as X.
  simpl in H. destruct (is_positive p) eqn:P.
  - apply positive_ok in P. destruct (lower_ok Qred n (Qred (/ (4 * p))) reduced s rows xs S L X) as [S' T].
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

Lemma merged_row_comb q z : forall r t xs, length r = length t ->
  ip (comb (merged_row r q t) xs) z = ip (comb r xs) z + Q2R q * ip (comb t xs) z.
Proof.
  induction r; intros [| c t] xs H; try discriminate; [destruct xs; simpl; products; ring |].
  destruct xs as [| x xs]; simpl; products; [ring |]. rewrite IHr, plus_ok, Q2R_mult by (simpl in H; lia). ring.
Qed.
Lemma merged_row_length r q t : length r = length t -> length (merged_row r q t) = length r.
Proof. revert t; induction r; intros [| c t] H; simpl in *; auto. Qed.
Lemma merged_ok n q : forall rows others xs, shaped n rows -> shaped n others ->
  shaped n (merged rows q others) /\ tri (merged rows q others) xs = tri rows xs + Q2R q * tri others xs.
Proof.
  induction n; intros [| [c r] rows] [| [e t] others] xs A B; try easy; [simpl; split; [auto | ring] |].
  destruct A as [L A]. destruct B as [M B]. destruct xs as [| x xs].
  - destruct (IHn rows others [] A B) as [S _]. simpl. split; [rewrite merged_row_length by congruence; auto | ring].
  - destruct (IHn rows others xs A B) as [S T]. simpl. split; [rewrite merged_row_length by congruence; auto |].
    rewrite T, plus_ok, Q2R_mult, merged_row_comb by congruence. ring.
Qed.
Lemma roots_ok n xs : length xs = n -> forall roots t,
  forallb (fun s => length s =? n)%nat roots = true -> shaped n t ->
  let t' := fold_left (fun t s => lower (fun a => a) 1 s t) roots t in shaped n t' /\ tri t' xs <= tri t xs.
Proof.
  intros X. induction roots as [| s roots IH]; intros t H S; simpl; [split; [exact S | lra] |].
  simpl in H. apply andb_prop in H as [L H]. apply Nat.eqb_eq in L.
  destruct (lower_ok (fun a => a) n 1 (fun a => eq_refl) s t xs S L X) as [S' T].
  destruct (IH _ H S') as [S2 T2]. split; [exact S2 |]. pose proof (square (comb s xs)).
  rewrite RMicromega.Q2R_1 in T. lra.
Qed.
Fixpoint owed (debts : list Q) xs : R :=
  match debts, xs with
  | d :: debts, x :: xs => Q2R d * sq x + owed debts xs
  | _, _ => 0
  end.
Lemma added_owed l : forall m xs, length l = length m -> owed (added l m) xs = owed l xs + owed m xs.
Proof.
  induction l; intros [| c m] xs H; try discriminate; [destruct xs; simpl; ring |].
  destruct xs as [| x xs]; simpl; [ring |]. rewrite IHl, plus_ok by (simpl in H; lia). ring.
Qed.
Lemma added_length l m : length l = length m -> length (added l m) = length l.
Proof. revert m; induction l; intros [| c m] H; simpl in *; auto. Qed.
Lemma half_ok a : Q2R (half a) = Rabs (Q2R a) / 2.
Proof.
  unfold half. rewrite Q2R_mult. replace (Q2R (1 # 2)) with (/ 2) by (unfold Q2R; simpl; field).
  destruct (is_least a) eqn:H.
  - rewrite Rabs_pos_eq by (now apply least_ok). reflexivity.
  - rewrite Q2R_opp. rewrite Rabs_left1; [reflexivity |]. apply Z.leb_gt in H. unfold Q2R.
    assert (IZR (Qnum a) <= 0) by (apply IZR_le; lia). assert (0 < / IZR (Zpos (Qden a))).
    { apply Rinv_0_lt_compat, IZR_lt. reflexivity. }
    rewrite <- (Rmult_0_l (/ IZR (Zpos (Qden a)))). apply Rmult_le_compat_r; lra.
Qed.
Lemma halves_cover s x : forall xs, length xs = length s ->
  0 <= Q2R (all (map half s)) * sq x + ip (comb s xs) x + owed (map half s) xs.
Proof.
  induction s as [| a s IH]; intros [| y xs] L; try discriminate; simpl.
  - rewrite RMicromega.Q2R_0, ip_zero. lra.
  - specialize (IH xs ltac:(simpl in L; lia)). unfold all in *. rewrite plus_ok, half_ok. products. unfold sq in *.
    enough (0 <= Rabs (Q2R a) / 2 * ip x x + Q2R a * ip y x + Rabs (Q2R a) / 2 * ip y y) by lra.
    pose proof (ip_pos (add x y)) as P. pose proof (ip_pos (sub x y)) as N. products_in P. products_in N.
    rewrite (ip_sym x y) in *. unfold Rabs. destruct (Rcase_abs (Q2R a)).
    + apply (Rmult_le_compat_l (- Q2R a / 2)) in N; lra.
    + apply (Rmult_le_compat_l (Q2R a / 2)) in P; lra.
Qed.
Lemma dominant_ok n : forall debts rows xs,
  dominant debts rows = true -> shaped n rows -> length xs = n -> owed debts xs <= tri rows xs.
Proof.
  induction n; intros [| d debts] [| [c s] rows] xs H S X; try discriminate; try easy; [simpl; lra |].
  destruct S as [L S]. destruct xs as [| x xs]; [discriminate |]. injection X as X. simpl in H.
  apply andb_prop in H as [A H]. apply andb_prop in A as [D A]. apply Nat.eqb_eq in D.
  apply least_ok in A. unfold Qminus in A. rewrite !Q2R_plus, !Q2R_opp in A.
  specialize (IHn _ rows xs H S X). rewrite added_owed in IHn by (rewrite map_length; congruence).
  pose proof (halves_cover s x xs ltac:(congruence)). pose proof (square x). simpl.
  apply (Rmult_le_compat_r (sq x)) in A; [| assumption]. lra.
Qed.

Lemma no_owed n xs : owed (repeat 0%Q n) xs = 0.
Proof. revert xs; induction n; intros [| x xs]; simpl; try reflexivity. rewrite IHn, RMicromega.Q2R_0. ring. Qed.
Lemma enough_ok n q roots rows xs : enough n q roots rows = true -> shaped n rows -> length xs = n -> 0 <= tri rows xs.
Proof.
  intros H S X. destruct roots as [| s roots]; [exact (squares_ok n n rows xs H S X) |]. unfold enough in H.
  apply andb_prop in H as [H D]. apply andb_prop in H as [Q L]. apply least_ok in Q.
  destruct (roots_ok n xs X (s :: roots) (no_rows n) L (no_rows_shaped n)) as [S' T]. rewrite no_rows_tri in T.
  set (t := fold_left _ (s :: roots) (no_rows n)) in *. destruct (merged_ok n q rows t xs S S') as [S2 E].
  pose proof (dominant_ok n _ _ xs D S2 X) as O. rewrite no_owed, E in O.
  apply (Rmult_le_compat_l (Q2R q)) in T; lra.
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
Theorem by_squares xs fs upper amount objective used q roots :
  proves (length xs) (length fs) upper amount objective used q roots = true -> given xs fs used ->
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
  rewrite (zero_numbers _ _ N), no_rows_tri, no_numbers in E. pose proof (enough_ok _ _ _ _ xs Q S eq_refl) as T.
  unfold f, gap in E. rewrite !value_app, !value_scaled in E. pose proof (used_least xs fs used M G).
  rewrite !shown_ok, written_ok. replace (Q2R (-1)) with (-1) in E by (unfold Q2R; simpl; field). lra.
Qed.
End Sound.

(* ---- Polynomials in M - 2 without negative coefficients, over a power of M - 1 ---- *)

Ltac grows :=
  repeat first
    [lra | apply Rle_mult_inv_pos | apply Rplus_le_lt_0_compat | apply Rplus_le_le_0_compat | apply Rmult_le_pos
    | apply Rmult_lt_0_compat | apply pow_le | apply pow_lt].
