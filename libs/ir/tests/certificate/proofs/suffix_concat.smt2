(set-logic ALL)
(declare-fun a () String)
(assert (not (str.suffixof "@example.com" (str.++ a "@example.com"))))
(check-sat)
