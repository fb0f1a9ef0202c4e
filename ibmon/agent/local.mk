# ibmon/agent
