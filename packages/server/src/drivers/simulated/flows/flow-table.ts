/**
 * The flows of a VPC, or of one NIC outside of VPCs, while their facts stay the same. A NIC's bytes are those of its guest: a part goes to
 * neighbours in a ring of NICs, the rest to the internet. Rates are whole bytes a second, so sums are exact; packets are rounded up per
 * flow.
 * Source: behaviour networking.md 3.1, 3.3.
 */
import { type Address, formatAddress, isInRange, parseHost, parsePrefix } from '../../../core/ip-address.ts'
import { type Packet, type PacketEnd, policyDecider } from '../../policy-match.ts'
import type { FloatingIpProgram, PolicyProgram } from '../../virtual-routing.ts'
import { guestKey, networkAt, type Profile, profileName, profileOf } from '../guest-load.ts'
import { keyOf, noise } from '../noise.ts'
import type { ObservedAttachment, ObservedNic, ObservedTunnel } from './history.ts'

interface FlowFacts {
  readonly seed: string
  /** Absent: the physical network carries everything. */
  readonly vpcExtId?: string
  readonly nics: readonly (ObservedNic & { readonly nicExtId: string })[]
  readonly attachments: readonly ObservedAttachment[]
  readonly floatingIps: readonly FloatingIpProgram[]
  readonly policies: readonly PolicyProgram[]
  readonly tunnels: readonly ObservedTunnel[]
  /** NICs whose traffic a network function drops. */
  readonly cutNics: ReadonlySet<string>
}

export interface Flow extends Packet {
  readonly source: FlowEnd
  readonly destination: FlowEnd
  readonly kind: 'internal' | 'egress' | 'ingress'
  readonly externalSubnetExtId?: string
  readonly connectionExtId?: string
  readonly bytesPerPacket: number
  readonly decision: Decision
}

export interface FlowEnd extends PacketEnd {
  readonly nicExtId?: string
  readonly hostExtId?: string
}

export interface Decision {
  readonly policyExtId?: string
  readonly isReverse?: boolean
  /** The service to which the policy reroutes does not answer. */
  readonly isFallback?: boolean
  readonly arrives: boolean
}

type Visitor = (flow: Flow, bytesPerSecond: number) => void

interface Member {
  readonly nicExtId: string
  readonly nic: ObservedNic
  readonly key: number
  readonly profile: Profile
  readonly end: FlowEnd
  readonly out: Flow
  /** Absent: nothing from outside reaches the NIC. */
  readonly replies?: Flow
  readonly inbound?: Flow
  readonly tunneled: readonly { readonly out: Flow; readonly back: Flow }[]
}

interface Edge {
  readonly from: number
  readonly to: number
  readonly there: Flow
  readonly back: Flow
  /** Bytes a second, over the 30 s before `second`. */
  rate: number
  second: number
}

interface Drawn {
  received: number
  transmitted: number
  second: number
}

/** Largest part of a NIC's bytes for each of its two neighbours. */
const neighbourShare = 0.35
/** All tunnels together carry this share of the bytes that a NIC exchanges with the outside. */
const tunneledShare = 0.4
const bytesPerPacket = [500, 1200] as const
const clientPorts = [32_768, 60_999] as const
const services: Readonly<Record<ReturnType<typeof profileName>, number>> = {
  ...{ idle: 22, web: 443, database: 5432, batch: 8080, desktop: 3389 },
}

export class FlowTable {
  readonly #members: readonly Member[]
  readonly #edges: readonly Edge[]
  readonly #edgesOf: readonly (readonly number[])[]
  readonly #indexes: ReadonlyMap<string, number>
  readonly #drawn: readonly Drawn[]
  readonly #isWhole: (boolean | undefined)[] = []
  readonly #decide: ReturnType<typeof policyDecider>
  readonly #connectedShares = new Map<string, number>()

  private constructor(members: readonly Member[], edges: readonly Edge[], decide: ReturnType<typeof policyDecider>) {
    this.#members = members
    this.#edges = edges
    this.#decide = decide
    const edgesOf = this.#members.map((): number[] => [])
    for (const [index, { from, to }] of this.#edges.entries()) {
      edgesOf[from]!.push(index)
      edgesOf[to]!.push(index)
    }
    this.#edgesOf = edgesOf
    this.#indexes = new Map(this.#members.map(({ nicExtId }, index) => [nicExtId, index]))
    this.#drawn = this.#members.map(() => ({ received: 0, transmitted: 0, second: -1 }))
  }

  /** Draws the flows in short steps. */
  static *drawing(facts: FlowFacts): Generator<undefined, FlowTable> {
    const flows = new FlowMaker(facts)
    const ordered = facts.nics
      .map((nic) => ({ nic, nicExtId: nic.nicExtId, order: keyOf(`${facts.seed}/flow/${nic.nicExtId}`) }))
      .sort((a, b) => a.order - b.order || (a.nicExtId < b.nicExtId ? -1 : 1))
    const members: Member[] = []
    for (const { nicExtId, nic } of ordered) {
      members.push(flows.memberOf(nicExtId, nic))
      yield
    }
    const count = members.length
    const edges: Edge[] = []
    for (let from = 0; from < (count === 2 ? 1 : count) && count > 1; from++) {
      edges.push(flows.edgeOf(members, from, (from + 1) % count))
      yield
    }
    return new FlowTable(members, edges, flows.decide)
  }

  /** Every flow of the 30 s before `second`. */
  visit(second: number, visitor: Visitor): void {
    for (let edge = 0; edge < this.#edges.length; edge++) this.#visitEdge(edge, second, visitor)
    this.visitCrossing(second, visitor)
  }

  /** Every flow that enters or leaves the VPC. */
  visitCrossing(second: number, visitor: Visitor): void {
    for (let member = 0; member < this.#members.length; member++) this.#visitOutside(member, second, visitor)
  }

  visitNic(nicExtId: string, second: number, visitor: Visitor): void {
    const member = this.#indexes.get(nicExtId)
    if (member === undefined) return
    for (const edge of this.#edgesOf[member]!) this.#visitEdge(edge, second, visitor)
    this.#visitOutside(member, second, visitor)
  }

  /** Whether everything that is sent to the NIC arrives. */
  receivesAll(nicExtId: string): boolean {
    const member = this.#indexes.get(nicExtId)
    if (member === undefined) return true
    this.#isWhole[member] ??= this.#isReached(member)
    return this.#isWhole[member]
  }

  /** Share of NICs (on one subnet) whose connections to `server` policies allow in both directions; 1 if there are none. */
  connectedShare(server: PacketEnd, protocol: Packet['protocol'], subnetExtId?: string): number {
    const key = [formatAddress(server.address), server.port, protocol, subnetExtId].join(' ')
    const cached = this.#connectedShares.get(key)
    if (cached !== undefined) return cached
    const clients = this.#members.filter(({ nic }) => subnetExtId === undefined || nic.subnetExtId === subnetExtId)
    const connected = clients.filter(({ end }) => {
      const client = { ...end, port: clientPorts[0] }
      return [
        { source: client, destination: server, protocol },
        { source: server, destination: client, protocol },
      ].every((packet) => this.#decide(packet).passes)
    })
    const share = clients.length === 0 ? 1 : connected.length / clients.length
    this.#connectedShares.set(key, share)
    return share
  }

  /** Bytes a second that were sent to the NIC and did not arrive. */
  lost(nicExtId: string, second: number): number {
    const member = this.#indexes.get(nicExtId)
    if (member === undefined) return 0
    let lost = this.#drawnBy(member, second).received
    this.visitNic(nicExtId, second, ({ destination, decision }, rate) => {
      if (destination.nicExtId === nicExtId && decision.arrives) lost -= rate
    })
    return lost
  }

  #isReached(member: number): boolean {
    const { replies, inbound, out, tunneled } = this.#members[member]!
    if (replies === undefined || !replies.decision.arrives || !out.decision.arrives) return false
    if (inbound?.decision.arrives === false) return false
    if (!tunneled.every((each) => each.out.decision.arrives && each.back.decision.arrives)) return false
    return this.#edgesOf[member]!.every((index) => {
      const { to, there, back } = this.#edges[index]!
      return (to === member ? there : back).decision.arrives
    })
  }

  /** Both directions carry the same number of bytes, so that what NICs send to each other is what they receive. */
  #edgeRate(index: number, second: number): number {
    const edge = this.#edges[index]!
    if (edge.second !== second) {
      const [one, other] = [this.#drawnBy(edge.from, second), this.#drawnBy(edge.to, second)]
      const most = Math.min(one.received, one.transmitted, other.received, other.transmitted)
      edge.rate = Math.floor(most * neighbourShare)
      edge.second = second
    }
    return edge.rate
  }

  #visitEdge(index: number, second: number, visitor: Visitor): void {
    const rate = this.#edgeRate(index, second)
    if (rate === 0) return
    const { there, back } = this.#edges[index]!
    visitor(there, rate)
    visitor(back, rate)
  }

  #visitOutside(member: number, second: number, visitor: Visitor): void {
    const { out, replies, inbound, tunneled } = this.#members[member]!
    const { received, transmitted } = this.#drawnBy(member, second)
    let inside = 0
    for (const edge of this.#edgesOf[member]!) inside += this.#edgeRate(edge, second)
    const sent = splitOf(transmitted - inside, tunneled.length)
    const got = splitOf(received - inside, tunneled.length)
    for (const tunnel of tunneled) {
      if (sent.each > 0) visitor(tunnel.out, sent.each)
      if (got.each > 0 && tunnel.out.decision.arrives) visitor(tunnel.back, got.each)
    }
    if (sent.rest > 0) visitor(out, sent.rest)
    const requests = inbound === undefined ? 0 : Math.floor(got.rest / 2)
    if (inbound !== undefined && requests > 0) visitor(inbound, requests)
    if (replies !== undefined && out.decision.arrives && got.rest > requests) visitor(replies, got.rest - requests)
  }

  #drawnBy(member: number, second: number): Drawn {
    const drawn = this.#drawn[member]!
    if (drawn.second !== second) {
      const { key, profile, nic } = this.#members[member]!
      const { received, transmitted } = networkAt(key, profile, second)
      drawn.received = shareOf(received, nic)
      drawn.transmitted = shareOf(transmitted, nic)
      drawn.second = second
    }
    return drawn
  }
}

/** Bytes a second: through each tunnel, and the rest. */
interface Split {
  readonly each: number
  readonly rest: number
}

function splitOf(rate: number, tunnels: number): Split {
  const each = tunnels === 0 ? 0 : Math.floor((Math.max(0, rate) * tunneledShare) / tunnels)
  return { each, rest: rate - each * tunnels }
}

/** The shares of all connected NICs add up to `rate`. */
const shareOf = (rate: number, { index, connectedNics }: ObservedNic): number =>
  Math.floor(rate / connectedNics) + (index < rate % connectedNics ? 1 : 0)

/** The tunnel or the external subnet that carries a flow beyond the VPC. */
type Through = Pick<Flow, 'connectionExtId' | 'externalSubnetExtId'>

class FlowMaker {
  readonly #facts: FlowFacts
  readonly decide: ReturnType<typeof policyDecider>

  constructor(facts: FlowFacts) {
    this.#facts = facts
    const addresses = new Set(facts.nics.flatMap(({ address }) => address ?? []))
    this.decide = policyDecider(facts.policies, (address) => addresses.has(address))
  }

  memberOf(nicExtId: string, nic: ObservedNic): Member {
    const key = guestKey(this.#facts.seed, nic.vmExtId)
    const draws = keyOf(`${this.#facts.seed}/flow/${nicExtId}`)
    const address = parseHost(nic.address ?? '') ?? unnumbered
    const end: FlowEnd = { address, isExternal: false, nicExtId, hostExtId: nic.hostExtId }
    const outside = this.#outsideOf(nic, address)
    const client = portOf(draws, 1)
    const server = { ...outsider(draws, 2), port: 443 }
    const exit = outside.exit === undefined ? {} : { externalSubnetExtId: outside.exit }
    const out = this.#flow('egress', { ...end, port: client }, server, exit)
    const isConnected = nic.vpcExtId === undefined || outside.exit !== undefined
    const replies = isConnected ? this.#flow('ingress', server, { ...end, port: client }, exit) : undefined
    const service = services[profileName(nic.vmName, key)]
    const inbound =
      outside.floating === undefined
        ? undefined
        : this.#flow(
            'ingress',
            { ...outsider(draws, 3), port: portOf(draws, 4) },
            { ...end, port: service },
            { externalSubnetExtId: outside.floating },
          )
    return {
      ...{ nicExtId, nic, key, profile: profileOf(nic.vmName, key), end, out },
      ...(replies && { replies }),
      ...(inbound && { inbound }),
      tunneled: this.#facts.tunnels.map((tunnel) => this.#tunneled(tunnel, { ...end, port: client })),
    }
  }

  edgeOf(members: readonly Member[], from: number, to: number): Edge {
    const [client, server] = [members[from]!, members[to]!]
    const port = portOf(keyOf(`${this.#facts.seed}/flow/${client.nicExtId}`), 5)
    const service = services[profileName(server.nic.vmName, server.key)]
    const [source, destination] = [
      { ...client.end, port },
      { ...server.end, port: service },
    ]
    return {
      ...{ from, to },
      there: this.#flow('internal', source, destination),
      back: this.#flow('internal', destination, source),
      ...{ rate: 0, second: -1 },
    }
  }

  /** External subnets that traffic from and to the NIC crosses. */
  #outsideOf(nic: ObservedNic, address: Address): { readonly exit?: string; readonly floating?: string } {
    const { attachments, floatingIps } = this.#facts
    const floatingIp = floatingIps.find(({ privateAddress }) => privateAddress === nic.address)
    const floating = attachments.find(({ subnetExtId }) => subnetExtId === floatingIp?.externalSubnetExtId)?.subnetExtId
    const exit = attachments.find(
      ({ isExit, isTranslated, externallyRoutablePrefixes }) =>
        isExit && (isTranslated || isWithin(externallyRoutablePrefixes, address)),
    )?.subnetExtId
    return { ...(exit !== undefined && { exit }), ...(floating !== undefined && { floating }) }
  }

  #tunneled({ connectionExtId, prefixes }: ObservedTunnel, end: FlowEnd): Member['tunneled'][number] {
    const draws = keyOf(`${this.#facts.seed}/tunnel/${connectionExtId}/${end.nicExtId}`)
    const prefix = parsePrefix(prefixes[Math.floor(noise(draws, 1, 0) * prefixes.length)] ?? '')
    const size = prefix === undefined ? 0 : Number(prefix.last - prefix.first)
    const host = {
      family: 'IPV4',
      value: (prefix?.first ?? 0n) + BigInt(Math.floor(noise(draws, 2, 0) * size)),
    } as const
    const site = { address: host, isExternal: true, port: 443 }
    const through = { connectionExtId }
    return { out: this.#flow('egress', end, site, through), back: this.#flow('ingress', site, end, through) }
  }

  #flow(kind: Flow['kind'], source: FlowEnd, destination: FlowEnd, through: Through = {}): Flow {
    const { connectionExtId, externalSubnetExtId } = through
    const [least, most] = bytesPerPacket
    const key = keyOf(`${this.#facts.seed}/packets/${source.nicExtId}/${destination.nicExtId}`)
    const isInVpc = this.#facts.vpcExtId !== undefined
    const leadsNowhere = kind === 'egress' && isInVpc && !externalSubnetExtId && !connectionExtId
    const isCut = leadsNowhere || [source, destination].some(({ nicExtId }) => this.#facts.cutNics.has(nicExtId ?? ''))
    const packet: Packet = { source, destination, protocol: 'TCP' }
    const decide = (): Decision => {
      const decision = this.#decisionFor(packet)
      return isCut ? { ...decision, arrives: false } : decision
    }
    let cached: Decision | undefined
    return {
      ...{ kind, source, destination, protocol: 'TCP' },
      ...(externalSubnetExtId && { externalSubnetExtId }),
      ...(connectionExtId && { connectionExtId }),
      bytesPerPacket: Math.round(least + (most - least) * noise(key, 1, 0)),
      // Most readers ask for few flows, and each decision may compare many policies.
      get decision() {
        cached ??= decide()
        return cached
      },
    }
  }

  #decisionFor(packet: Packet): Decision {
    const { policy, passes, ...decided } = this.decide(packet)
    return { ...(policy && { policyExtId: policy.extId }), ...decided, arrives: passes }
  }
}

const unnumbered: Address = { family: 'IPV4', value: 0n }

const isWithin = (prefixes: readonly string[], { family, value }: Address): boolean =>
  prefixes.some((text) => {
    const prefix = parsePrefix(text)
    return prefix?.family === family && isInRange(prefix, value)
  })

const portOf = (key: number, draw: number): number =>
  clientPorts[0] + Math.floor(noise(key, draw, 0) * (clientPorts[1] - clientPorts[0] + 1))

/** In the networks that RFC 5737 reserves for documentation. */
function outsider(key: number, draw: number): FlowEnd {
  const host = 1 + Math.floor(noise(key, draw, 1) * 254)
  const network = noise(key, draw, 2) < 0.5 ? '198.51.100' : '203.0.113'
  return { address: parseHost(`${network}.${host}`)!, isExternal: true }
}
