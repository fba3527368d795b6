import type { AddressGuard } from '../core/access/address-guard.ts'
import type { FlowCollectors } from './flow-exporting.ts'
import { machineAuthorities } from './machine-authorities.ts'
import { createStreamCollectors } from './stream-collectors.ts'
import { createUdpCollectors } from './udp-collectors.ts'

/** @param now real time @param authorities of the certificates of collectors, PEM; default: those of the machine */
export function createFlowCollectors(
  guard: AddressGuard,
  now: () => number,
  authorities: () => readonly string[] = machineAuthorities,
): FlowCollectors {
  const udp = createUdpCollectors(guard)
  const streams = createStreamCollectors({ guard, now, authorities })
  return {
    refusalOf: udp.refusalOf,
    send: (collector, message) => (collector.protocol === undefined ? udp : streams).send(collector, message),
    close() {
      udp.close()
      streams.close()
    },
  }
}
