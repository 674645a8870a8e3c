#include "server.hpp"

#include <gtest/gtest.h>

int main(int count, char **arguments) {
  testing::InitGoogleTest(&count, arguments);
  if (!testing::GTEST_FLAG(list_tests))
    gatepost::test::prepare();
  return RUN_ALL_TESTS();
}
