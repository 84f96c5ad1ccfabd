#include "standin/peer.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "support/layers.h"

namespace polypath::test {
namespace {

std::string rest_of(std::FILE* file) {
  std::string text;
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text += static_cast<char>(c);
  return text;
}

[[noreturn]] void run(const std::vector<std::string>& environment) {
  for (const char* variable : {"CUDA_VISIBLE_DEVICES", "STANDIN_STRICT", "STANDIN_JOURNAL"})
    unsetenv(variable);
  for (const std::string& entry : environment) putenv(const_cast<char*>(entry.c_str()));
  execl(STANDIN_PEER, STANDIN_PEER, nullptr);
  _exit(127);
}

}  // namespace

Peer::Peer(const std::vector<std::string>& environment) {
  int in[2], out[2];
  errors_ = std::tmpfile();
  if (errors_ == nullptr || pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) std::abort();
  signal(SIGPIPE, SIG_IGN);
  process_ = fork();
  if (process_ == 0) {
    dup2(in[0], STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    dup2(fileno(errors_), STDERR_FILENO);
    run(environment);
  }
  close(in[0]);
  close(out[1]);
  commands_ = fdopen(in[1], "w");
  answers_ = fdopen(out[0], "r");
}

Peer::~Peer() {
  if (process_ != 0) kill();
  std::fclose(commands_);
  std::fclose(answers_);
  std::fclose(errors_);
}

std::string Peer::ask(const std::string& command) {
  std::fprintf(commands_, "%s\n", command.c_str());
  std::fflush(commands_);
  std::string line;
  for (int c = std::fgetc(answers_); c != EOF && c != '\n'; c = std::fgetc(answers_))
    line += static_cast<char>(c);
  return line;
}

int Peer::wait() {
  int status = 0;
  waitpid(process_, &status, 0);
  process_ = 0;
  std::rewind(errors_);
  complaints_ = rest_of(errors_);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

int Peer::quit() {
  std::fprintf(commands_, "quit\n");
  std::fflush(commands_);
  last_words_ = rest_of(answers_);
  return wait();
}

void Peer::kill() {
  ::kill(process_, SIGKILL);
  wait();
}

}  // namespace polypath::test
