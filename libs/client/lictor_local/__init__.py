"""What runs Lictor on this machine: embedded servers, the stack of services, the doctor, the demo."""
