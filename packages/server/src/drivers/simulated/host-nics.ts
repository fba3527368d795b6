/**
 * Physical NICs of simulated hosts; without a fact a host has `defaultNics` and hears no switch. `hardware.faults` break links.
 * Source: behaviour clustermgmt.md 1.5; networking.md 1.19, 3.1, 3.4, 4.
 */
import { hash } from 'node:crypto'
import { derivedId } from '../../core/ids/named-id.ts'
import { createLru } from '../../core/lru.ts'
import { DriverError } from '../../core/tasks/define-task.ts'
import type { HostNetworking, HostNicView, NicOfHost, SwitchPort } from '../host-networking.ts'
import { hardwareFaults } from './hardware-faults.ts'
import { requireAgents } from './host-agents.ts'
import { domainFacts } from './hypervisor/facts.ts'
import { defaultNics, type NicModelId, nicModel } from './nic-models.ts'
import type { SimulatedWorld } from './world.ts'

/** By host. */
interface HostNicsFact {
  readonly models: readonly NicModelId[]
  /** Even and odd NICs go to different switches of the rack; absent: no switch announces itself. */
  readonly rack?: { readonly extId: string; readonly slot: number }
  /** By NIC name: the profile of its virtual functions. */
  readonly profiles?: Readonly<Record<string, string>>
}

export const hostNicFacts = (world: SimulatedWorld) => world.collection<HostNicsFact>('hardware.nics')

const unchanged: HostNicsFact = { models: defaultNics }
const factOf = (world: SimulatedWorld, hostExtId: string): HostNicsFact =>
  hostNicFacts(world).get(hostExtId) ?? unchanged

export const nicName = (index: number): string => `eth${index}`

export const hostNicId = (hostExtId: string, name: string): string => derivedId('host NIC', hostExtId, name)

export function createHostNics(
  world: SimulatedWorld,
): Pick<HostNetworking, 'disableVirtualFunctions' | 'enableVirtualFunctions' | 'hostNics'> {
  const put = (hostExtId: string, name: string, profileExtId: string | undefined): Promise<void> => {
    const { profiles = {}, ...fact } = factOf(world, hostExtId)
    const { [name]: _, ...others } = profiles
    const next = profileExtId === undefined ? others : { ...others, [name]: profileExtId }
    return hostNicFacts(world).put(hostExtId, {
      ...fact,
      ...(Object.keys(next).length === 0 ? {} : { profiles: next }),
    })
  }
  const profileOf = ({ hostExtId, name }: NicOfHost): string | undefined => factOf(world, hostExtId).profiles?.[name]
  return {
    hostNics: (hostExtId) => nicsOfHost(world, hostExtId),
    async enableVirtualFunctions({ hostExtId, name }, profileExtId) {
      if (profileOf({ hostExtId, name }) === profileExtId) return
      requireAgents(world, [hostExtId], 'fails')
      const nic = nicsOfHost(world, hostExtId).find((each) => each.name === name)
      if (nic === undefined || nic.model.virtualFunctions === 0)
        throw DriverError.final(`${name} of the host ${hostExtId} has no virtual functions`)
      await put(hostExtId, name, profileExtId)
    },
    async disableVirtualFunctions({ hostExtId, name }) {
      const profileExtId = profileOf({ hostExtId, name })
      if (profileExtId === undefined) return
      requireAgents(world, [hostExtId], 'fails')
      const own = nicsOfHost(world, hostExtId).find((each) => each.name === name)?.virtualFunctions?.count ?? 0
      if (functionsInUse(world, hostExtId, profileExtId) > functionsOfHost(world, hostExtId, profileExtId) - own)
        throw DriverError.final(`virtual functions of ${name} of the host ${hostExtId} are in use`)
      await put(hostExtId, name, undefined)
    },
  }
}

/** Functions of host NICs with the profile that running domains on the host have. */
export const functionsInUse = (world: SimulatedWorld, hostExtId: string, profileExtId: string): number =>
  [...domainFacts(world).all().values()]
    .filter((fact) => fact.state === 'ON' && fact.hostExtId === hostExtId)
    .flatMap(({ domain }) => domain.nics)
    .filter(({ virtualFunction }) => virtualFunction?.profileExtId === profileExtId).length

export const functionsOfHost = (world: SimulatedWorld, hostExtId: string, profileExtId: string): number =>
  nicsOfHost(world, hostExtId)
    .flatMap(({ virtualFunctions }) => virtualFunctions ?? [])
    .reduce((sum, each) => sum + (each.profileExtId === profileExtId ? each.count : 0), 0)

interface KeptNics {
  readonly fact: HostNicsFact
  readonly nics: readonly HostNicView[]
}

/** By host: NICs as with all links up. Facts are replaced, never changed. */
const kept = createLru<KeptNics>(4096)

export function nicsOfHost(world: SimulatedWorld, hostExtId: string): readonly HostNicView[] {
  const fact = factOf(world, hostExtId)
  let known = kept.get(hostExtId)
  if (known?.fact !== fact) kept.set(hostExtId, (known = { fact, nics: connectedNics(fact, hostExtId) }))
  if (hardwareFaults(world).get(hostExtId) === undefined) return known.nics
  return known.nics.map(({ switchPort, ...nic }) => {
    if (!isLinkUp(world, { hostExtId, name: nic.name })) return { ...nic, isUp: false }
    return { ...nic, ...(switchPort && { switchPort }) }
  })
}

const connectedNics = ({ models, rack, profiles = {} }: HostNicsFact, hostExtId: string): readonly HostNicView[] =>
  models.map((id, index) => {
    const name = nicName(index)
    const model = nicModel(id)
    const profileExtId = profiles[name]
    return {
      extId: hostNicId(hostExtId, name),
      name,
      macAddress: nicMac(hostExtId, index),
      isUp: true,
      model,
      ...(rack === undefined ? {} : { switchPort: portOf(rack, models.length, index) }),
      ...(profileExtId && { virtualFunctions: { profileExtId, count: model.virtualFunctions } }),
    }
  })

function isLinkUp(world: SimulatedWorld, { hostExtId, name }: NicOfHost): boolean {
  const { hasLostPower, lostUplinks = [], flaps = {} } = hardwareFaults(world).get(hostExtId) ?? {}
  if (hasLostPower === true || lostUplinks.includes(name)) return false
  const flap = flaps[name]
  return flap === undefined || !isDropped(flap, world.clock.now())
}

/** The link is down in the second half of each period. */
const isDropped = ({ since, periodSeconds }: { since: number; periodSeconds: number }, now: number): boolean =>
  (Math.max(0, now - since) / 1000) % periodSeconds >= periodSeconds / 2

const macFrom = (first: string, digits: string): string =>
  [first, ...(digits.slice(0, 10).match(/../g) as string[])].join(':')

/** Consecutive on a card, as sold. */
function nicMac(hostExtId: string, index: number): string {
  const number = BigInt(`0x${hash('sha1', `NICs of ${hostExtId}`).slice(0, 10)}`)
  const own = (number & ~0x1fn) | BigInt(index)
  return macFrom('b8', own.toString(16).padStart(10, '0'))
}

function portOf(rack: { readonly extId: string; readonly slot: number }, nics: number, index: number): SwitchPort {
  const side = index % 2
  const switchExtId = derivedId('rack switch', rack.extId, side)
  const digits = hash('sha1', switchExtId)
  // A host's cables to one switch are in neighbouring ports.
  const number = rack.slot * Math.ceil(nics / 2) + Math.floor(index / 2) + 1
  const port = hash('sha1', `${switchExtId} ${number}`)
  return {
    extId: derivedId('rack switch port', switchExtId, number),
    switchExtId,
    switchName: `rack-${rack.extId.slice(0, 4)}-${side === 0 ? 'a' : 'b'}`,
    switchMacAddress: macFrom('fc', digits),
    managementAddress: `10.43.${Number.parseInt(digits.slice(0, 2), 16)}.${side + 1}`,
    vendor: 'Open Network Linux',
    name: `Ethernet1/${number}`,
    number,
    macAddress: macFrom('fc', port),
    vlan: 1,
    mtu: 9216,
  }
}
