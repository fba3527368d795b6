/** The terms of a tunnel that the configurations of all vendors' devices state. Source: behaviour networking.md 1.11. */
import { parseHost, textOf } from '../../../core/ip-address.ts'
import type { TunnelProgram, TunnelProposal } from '../../../drivers/vpn-tunnels.ts'
import { localVpnOf, remoteVpnOf } from '../gateway/entity.ts'
import type { Ends } from '../vpn-connection/program.ts'
import { securityOf, tunnelOf } from '../vpn-connection/program.ts'
import type { ConnectionEntity } from '../vpn-connection/rules.ts'

/** The administrator of the device replaces it by the secret. */
export const keyPlaceholder = '<PRE_SHARED_KEY>'
export const passwordPlaceholder = '<BGP_PASSWORD>'
export const interiorPasswordPlaceholder = '<IBGP_PASSWORD>'

export interface Identity {
  readonly type: 'address' | 'email' | 'name' | 'distinguishedName'
  readonly text: string
}

interface Site {
  readonly address: string
  readonly interfaceAddress: string
  readonly identity: Identity
}

export interface DeviceTerms extends TunnelProposal {
  /** At most 15 characters, as the names of interfaces. */
  readonly name: string
  readonly title: string
  readonly own: Site
  readonly peer: Site
  readonly isInitiator: boolean
  readonly deadPeerDetection: { readonly intervalSeconds: number; readonly timeoutSeconds: number }
  /** The AS numbers of both sites; absent: no eBGP. */
  readonly bgp?: {
    readonly own: number
    readonly peer: number
    readonly hasPassword: boolean
    readonly interior: readonly InteriorNeighbor[]
    /** Name of a filter that lets no route pass. Absent: every interior neighbor is sent routes. */
    readonly emptyFilter?: string
  }
}

/** An iBGP peer of the device, which sends routes only to peers with `redistributesRoutes`. */
export interface InteriorNeighbor {
  readonly address: string
  readonly hasPassword: boolean
  readonly redistributesRoutes: boolean
}

export interface Device {
  readonly name: string
  readonly version: string
  render(terms: DeviceTerms): readonly string[]
}

export function termsFor(connection: ConnectionEntity, ends: Ends): DeviceTerms {
  const { local, remote }: TunnelProgram = tunnelOf(connection, ends)
  const { deadPeerDetection, isInitiator, proposal } = securityOf(connection, keyPlaceholder)
  const { ebgpConfig: here, peerIgpConfig } = remoteVpnOf(ends.remote) ?? {}
  const [own, peer] = [here?.asn, localVpnOf(ends.local)?.ebgpConfig?.asn]
  const name = `vpn-${connection.extId.slice(0, 8)}`
  const interior = (peerIgpConfig?.ibgpConfigList ?? []).map(({ password, peerIp, shouldRedistributeRoutes }) => ({
    address: textOf(peerIp) as string,
    hasPassword: password !== undefined,
    redistributesRoutes: shouldRedistributeRoutes === true,
  }))
  const needsEmptyFilter = interior.some(({ redistributesRoutes }) => !redistributesRoutes)
  return {
    ...proposal,
    name,
    title: connection.name,
    own: { ...remote, identity: identityOf(proposal.remoteId ?? remote.address) },
    peer: { ...local, identity: identityOf(proposal.localId ?? local.address) },
    isInitiator: !isInitiator,
    deadPeerDetection,
    ...(own !== undefined &&
      peer !== undefined && {
        bgp: {
          ...{ own, peer, interior, hasPassword: here?.password !== undefined },
          ...(needsEmptyFilter && { emptyFilter: `${name}-none` }),
        },
      }),
  }
}

function identityOf(text: string): Identity {
  if (parseHost(text) !== undefined) return { type: 'address', text }
  if (text.includes('@')) return { type: 'email', text }
  return { type: text.includes('=') ? 'distinguishedName' : 'name', text }
}

/** Probes without an answer before the peer counts as dead. */
export const retriesOf = ({ deadPeerDetection: { intervalSeconds, timeoutSeconds } }: DeviceTerms): number =>
  Math.max(1, Math.round(timeoutSeconds / intervalSeconds))

/** Whether the tunnel itself runs over IPv6; its interfaces have IPv4 addresses. */
export const isOverIpv6 = ({ own }: DeviceTerms): boolean => own.address.includes(':')

export const isCounterMode = (encryption: string): boolean => encryption === 'AES256GCM128'

export const within = (least: number, value: number, most: number): number => Math.min(most, Math.max(least, value))
