import type { ConnectSyslog } from '../syslog.ts'
import { connectRelp } from './relp.ts'
import { connectTcp } from './tcp.ts'
import { connectUdp } from './udp.ts'

const transports = { UDP: connectUdp, TCP: connectTcp, RELP: connectRelp }

export const connectSyslog: ConnectSyslog = (receiver, events) => transports[receiver.protocol](receiver, events)
