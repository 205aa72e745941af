(set-logic ALL)
(declare-fun a () String)
(assert (= (str.++ a "x") "aby"))
(check-sat)
