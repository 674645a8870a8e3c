#include "server.hpp"
