(* Exact means over all samples (enumeration.py), for every population in every space of vectors.

   Coq lists the samples and counts how often two units meet, which decides the mean for all populations at once. *)
Require Import Reals Lra Lia List ZArith rules.
Import ListNotations.
Open Scope R_scope.

(* ---- All ordered samples, without and with replacement ---- *)

Fixpoint without_replacement_of (draws : nat) (units : list nat) : list (list nat) :=
  match draws with
  | O => [[]]
  | S draws => flat_map (fun i => map (cons i) (without_replacement_of draws (remove Nat.eq_dec i units))) units
  end.
Fixpoint with_replacement_of (draws : nat) (units : list nat) : list (list nat) :=
  match draws with
  | O => [[]]
  | S draws => flat_map (fun i => map (cons i) (with_replacement_of draws units)) units
  end.
Definition without (n draws : nat) := without_replacement_of draws (seq 0 n).
Definition with_ (n draws : nat) := with_replacement_of draws (seq 0 n).

(* ---- Means over samples: d i is the deviation of unit i from the mean of all units ---- *)

Section Means.
Context {V : Inner} (d : nat -> V).

(* the deviations of the units of a sample, by these weights of its places *)
Fixpoint drawn (sample : list nat) (weights : list Z) : V :=
  match sample, weights with
  | i :: sample, w :: weights => add (scale (IZR w) (d i)) (drawn sample weights)
  | _, _ => zero
  end.
Fixpoint total {A} (f : A -> R) (l : list A) : R :=
  match l with
  | [] => 0
  | a :: l => f a + total f l
  end.
Definition mean_product (samples : list (list nat)) (ws us : list Z) : R :=
  total (fun s => ip (drawn s ws) (drawn s us)) samples / IZR (Z.of_nat (length samples)).
Definition mean_square samples ws := mean_product samples ws ws.
Definition variance (n : nat) : R := sum n (fun i => sq (d i)) / IZR (Z.of_nat n).

(* ---- What is counted ---- *)

Fixpoint counted (i : nat) (sample : list nat) (weights : list Z) : Z :=
  match sample, weights with
  | j :: sample, w :: weights => ((if (i =? j)%nat then w else 0) + counted i sample weights)%Z
  | _, _ => 0%Z
  end.
Definition met (samples : list (list nat)) (ws us : list Z) (i j : nat) : Z :=
  fold_right (fun s t => (counted i s ws * counted j s us + t)%Z) 0%Z samples.
(* the same for every two units, and for every unit with itself *)
Definition uniform (n : nat) samples ws us : bool :=
  let same := met samples ws us 0 0 in
  let other := met samples ws us 0 1 in
  forallb (forallb (fun i => i <? n)%nat) samples
  && forallb (fun i => forallb (fun j => met samples ws us i j =? (if i =? j then same else other)%nat)%Z (seq 0 n)) (seq 0 n).
Definition factor samples ws us : Z := (met samples ws us 0 0 - met samples ws us 0 1)%Z.

Lemma drawn_ip n z : forall sample ws, forallb (fun i => i <? n)%nat sample = true ->
  ip (drawn sample ws) z = sum n (fun i => IZR (counted i sample ws) * ip (d i) z).
Proof.
  induction sample as [| j sample IH]; intros [| w ws] H; simpl;
    try (rewrite ip_zero, (sum_ext n _ (fun _ => 0)), sum_const; [ring | intros; simpl; ring]).
  simpl in H. apply andb_prop in H as [J H]. apply Nat.ltb_lt in J.
  rewrite ip_add, ip_scale, IH by assumption.
  rewrite (sum_ext n (fun i => IZR ((if (i =? j)%nat then w else 0) + counted i sample ws) * ip (d i) z)
    (fun i => (if (j =? i)%nat then IZR w * ip (d i) z else 0) + IZR (counted i sample ws) * ip (d i) z)).
  - rewrite sum_add, (sum_only n j (fun i => IZR w * ip (d i) z)) by assumption. reflexivity.
  - intros i _. rewrite plus_IZR, (Nat.eqb_sym j i). destruct (i =? j)%nat; ring.
Qed.
Lemma met_ip n ws us : forall samples, forallb (forallb (fun i => i <? n)%nat) samples = true ->
  total (fun s => ip (drawn s ws) (drawn s us)) samples
  = sum n (fun i => sum n (fun j => IZR (met samples ws us i j) * ip (d i) (d j))).
Proof.
  induction samples as [| s samples IH]; intro H; simpl.
  - rewrite (sum_ext n _ (fun _ => 0)), sum_const; [ring |]. intros i _.
    rewrite (sum_ext n _ (fun _ => 0)), sum_const; [ring | intros; ring].
  - simpl in H. apply andb_prop in H as [J H]. rewrite IH, (drawn_ip n _ s ws J), <- sum_add by assumption.
    apply sum_ext; intros i _. rewrite ip_sym, (drawn_ip n _ s us J), <- sum_scale, <- sum_add.
    apply sum_ext; intros j _. rewrite plus_IZR, mult_IZR, (ip_sym (d j)). ring.
Qed.
Theorem enumerated n samples ws us :
  (forall z, ip (vsum n d) z = 0) -> uniform n samples ws us = true ->
  mean_product samples ws us = IZR (factor samples ws us) * sum n (fun i => sq (d i)) / IZR (Z.of_nat (length samples)).
Proof.
  intros Z H. unfold uniform in H. apply andb_prop in H as [I H]. unfold mean_product. f_equal.
  rewrite (met_ip n ws us samples I). set (same := met samples ws us 0 0) in *. set (other := met samples ws us 0 1) in *.
  rewrite (sum_ext n _ (fun i => IZR other * sum n (fun j => ip (d i) (d j)) + IZR (same - other) * sq (d i))).
  - rewrite sum_add, !sum_scale, <- ip_vsums, Z. unfold factor. fold same other. ring.
  - intros i J. rewrite <- (sum_only n i (fun j => sq (d j)) J), <- !sum_scale, <- sum_add.
    apply sum_ext; intros j K. rewrite forallb_forall in H. specialize (H i). rewrite forallb_forall in H.
    rewrite in_seq in H. assert (M := H ltac:(lia) j). rewrite in_seq in M. specialize (M ltac:(lia)).
    apply Z.eqb_eq in M. rewrite M, minus_IZR. destruct (Nat.eqb_spec i j) as [-> | _]; unfold sq; ring.
Qed.
(* one step of Lemma 4 of the first paper: the units before the m-th are in all k steps, the m-th in `so_far` of them *)
Definition partial_sum n k m so_far : R :=
  mean_square (without n m) (repeat (Z.of_nat k) (pred m) ++ [Z.of_nat so_far]).
Definition partial_sums_of n s k : R := sum s (fun m => sum k (partial_sum n k (S m))).
End Means.

(* Every mean over samples is counted; then both sides are numbers times zeta^2. *)
Ltac by_counting n :=
  intros V d zeta Z E; unfold variance in E; unfold partial_sums_of, partial_sum, mean_square; cbn [sum];
  repeat match goal with
  | |- context [mean_product d ?samples ?ws ?us] =>
      let c := eval vm_compute in (factor samples ws us) in
      let m := eval vm_compute in (Z.of_nat (length samples)) in
      rewrite (enumerated d n samples ws us Z) by (vm_cast_no_check (eq_refl true));
      replace (factor samples ws us) with c by (vm_cast_no_check (eq_refl c));
      replace (Z.of_nat (length samples)) with m by (vm_cast_no_check (eq_refl m))
  end;
  let t := fresh in
  let k := eval vm_compute in (Z.of_nat n) in
  set (t := sum n _) in *; change (Z.of_nat n) with k in E;
  replace t with (IZR k * zeta ^ 2) by (rewrite E; field); pose proof (pow2_ge_0 zeta); lra.
