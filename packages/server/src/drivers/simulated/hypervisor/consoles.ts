/** Text consoles of simulated guests: the log of their boot. Source: behaviour vmm.md 1.1, 3.3. */
import type { Consoles } from '../../hypervisor.ts'
import type { SimulatedWorld } from '../world.ts'
import type { GuestBoots } from './boots.ts'
import type { DomainFact } from './facts.ts'
import type { SimulatedHosts } from './hosts.ts'

interface Line {
  readonly at: number
  readonly text: string
}

const MiB = 1024 ** 2

export const createConsoles = (world: SimulatedWorld, hosts: SimulatedHosts, boots: GuestBoots): Consoles => ({
  async openConsole(vmExtId) {
    hosts.requireAnswer('openConsole', hosts.placesOf(hosts.domain(vmExtId)))
  },
  screenOf(vmExtId) {
    const fact = hosts.domains.get(vmExtId)
    if (fact?.state !== 'ON') return undefined
    const now = world.clock.now()
    const log = bootLog(boots, boots.settled(fact))
    const next = log.find(({ at }) => at > now)?.at
    const lines = log.filter(({ at }) => at <= now).map(({ text }) => text)
    return next === undefined || next === Number.POSITIVE_INFINITY ? { lines } : { lines, changesAt: next }
  },
})

/** Ascending; a hanging guest writes no lines. */
function bootLog(boots: GuestBoots, fact: DomainFact): Line[] {
  const { domain, startedAt = 0, hungSince = Number.POSITIVE_INFINITY } = fact
  const { ends } = boots.timesOf(fact)
  const os = boots.guestOf(fact)
  const system = boots.systemOf(fact)
  const firmware = { at: startedAt, text: `Firmware: ${domain.vcpus} vCPUs, ${domain.memoryBytes / MiB} MiB of memory` }
  if (os === undefined) return [firmware, { at: ends.firmware, text: 'Firmware: no bootable device' }]
  const connected = domain.nics.filter(({ isConnected }) => isConnected).length
  const log = [
    firmware,
    { at: ends.firmware, text: `Boot loader: ${os} found` },
    { at: ends.loader, text: `Kernel: ${system?.fullName ?? 'installer'} starts` },
    { at: ends.kernel, text: `Network: configuring ${domain.nics.length} interfaces` },
    { at: ends.network, text: `Network: ${connected} of ${domain.nics.length} interfaces are connected` },
    { at: ends.customization, text: system === undefined ? 'Installer: ready' : `${system.dnsName} login:` },
  ]
  return log.filter(({ at }) => at <= hungSince)
}
