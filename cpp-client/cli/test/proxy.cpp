// The client tests' proxy as a program, for tests that are scripts: proxy FOLDER
// Prints its port. Lines on standard input: cut, refuse 1, refuse 0, stall 1, stall 0, half. Ends with its input.
#include "../../test/proxy.hpp"

#include <iostream>
#include <string>

int main(int count, char **arguments) {
  if (count != 2)
    return 64;
  gatepost::test::Proxy proxy{arguments[1]};
  const std::string conninfo = proxy.conninfo("x");
  const std::size_t at = conninfo.find("port=") + 5;
  std::cout << conninfo.substr(at, conninfo.find(' ', at) - at) << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    if (line == "cut")
      proxy.cut();
    else if (line == "half")
      proxy.half_close();
    else if (line.starts_with("refuse "))
      proxy.refuse(line.ends_with('1'));
    else if (line.starts_with("stall "))
      proxy.stall(line.ends_with('1'));
    std::cout << "done" << std::endl;
  }
}
