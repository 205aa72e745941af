# The verdict: rejected import.unknown
import smtplib


def main() -> None:
    smtplib.SMTP("mail.example.org")
