/** Network functions on the way of a traced packet. Source: behaviour networking.md 1.15. */
import { domainFacts } from '../hypervisor/facts.ts'
import { functionFacts, functionView } from '../network-functions.ts'
import { type Port, subnetAt } from './ports.ts'
import { dropped, type Ending, type Walk } from './walk.ts'

/** The function that redirects what the NIC sends and receives. */
function functionOf({ world }: Walk, { guest, nicExtId, subnetExtId }: Port): string | undefined {
  const nic = guest.domain.nics.find(({ extId }) => extId === nicExtId)
  const functionExtId = nic?.functionChainExtId ?? subnetAt(world, subnetExtId)?.functionChainExtId
  return functionExtId !== undefined && functionFacts(world).functions.get(functionExtId) ? functionExtId : undefined
}

/** Between two NICs behind one function the packet passes it once. @returns the reason for a drop */
export function redirect(walk: Walk, ports: readonly Port[]): Ending | undefined {
  for (const functionExtId of new Set(ports.flatMap((port) => functionOf(walk, port) ?? []))) {
    const ending = passFunction(walk, functionExtId)
    if (ending !== undefined) return ending
  }
  return undefined
}

function passFunction(walk: Walk, functionExtId: string): Ending | undefined {
  const { activeNicExtId, forwarding } = functionView(walk.world, functionExtId)!
  const { mode } = functionFacts(walk.world).functions.get(functionExtId)!
  const note = (decision: string): void =>
    walk.note('NETWORK_FUNCTION', { kind: 'NetworkFunction', extId: functionExtId }, decision)
  if (forwarding === 'REDIRECTED') {
    const name = [...domainFacts(walk.world).all().values()].find(({ domain }) =>
      domain.nics.some(({ extId }) => extId === activeNicExtId),
    )?.domain.name
    note(mode === 'VTAP' ? `copies the packet to the VM ${name}` : `redirects the packet through the VM ${name}`)
    return undefined
  }
  const why = activeNicExtId === undefined ? 'no pair of NICs is enabled' : 'no pair of NICs is healthy'
  if (forwarding === 'PASSED') {
    note(`lets the packet pass: ${why}`)
    return undefined
  }
  note(`drops the packet: ${why}`)
  return dropped(`${why} in the network function, whose failure handling is FAIL_CLOSE`)
}
