// An outside simulation in C++: writes one variable for three steps, with its own process as the server.
#include <damaris/damaris.hpp>

#include <array>
#include <iostream>

int main() try {
  auto session = damaris::Session::attach("run.xml", 0);
  const auto x = session.variable<double>("x");
  for (int step = 0; step < 3; ++step) {
    std::array<double, 8> values{};
    for (int i = 0; i < 8; ++i) values[i] = 10.0 * step + i;
    x.write(step, values);
    session.end_iteration(step);
  }
  session.finalize();
  std::cout << "stored with damaris\n";
} catch (const damaris::Error& error) {
  std::cerr << error.code() << " " << error.what() << "\n";
  return 1;
}
