#include "sim/cli/interrupt.h"

#include <signal.h>
#include <csignal>

namespace pinfold::sim {
namespace {

volatile std::sig_atomic_t interrupted = 0;

using Handler = void (*)(int);
Handler before_int = SIG_DFL;
Handler before_term = SIG_DFL;

void note(int) { interrupted = 1; }

}  // namespace

InterruptsNoted::InterruptsNoted() {
  before_int = std::signal(SIGINT, note);
  before_term = std::signal(SIGTERM, note);
}

InterruptsNoted::~InterruptsNoted() {
  std::signal(SIGINT, before_int);
  std::signal(SIGTERM, before_term);
}

InterruptsHeld::InterruptsHeld() {
  sigset_t held;
  sigemptyset(&held);
  sigaddset(&held, SIGINT);
  sigaddset(&held, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &held, &before_);
}

InterruptsHeld::~InterruptsHeld() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

void InterruptsNoted::check() {
  if (interrupted != 0) throw Interrupted{};
}

}  // namespace pinfold::sim
