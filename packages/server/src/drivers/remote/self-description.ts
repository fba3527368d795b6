/** Self-description of a peer: foreign input, to be validated. Source: behaviour platform.md 4; catalogue platform.json. */
import { isIPv4 } from 'node:net'
import { uuidPattern } from '@hyperplane/contract/shapes'
import { RemoteFault, type RemoteManagerConfig, type RemoteSide } from '../remote-managers.ts'

export interface SelfDescription {
  readonly extId: string
  readonly config: {
    readonly name: string
    readonly size: RemoteManagerConfig['size']
    readonly buildInfo: { readonly version?: string | undefined }
  }
  readonly network: {
    readonly externalNetworks?: readonly {
      readonly ipAddresses?: readonly { readonly ipv4?: { readonly value: string } | undefined }[] | undefined
    }[]
  }
  readonly nodeExtIds?: readonly string[] | undefined
}

const sizes: readonly unknown[] = ['STARTER', 'SMALL', 'LARGE', 'EXTRALARGE']
const longestName = 80
const unknownVersion = '0.0'
const shownNodes = 3

/** @throws RemoteFault refused, when it is not a UUID */
export function requireId(id: unknown, address: string): string {
  if (typeof id === 'string' && new RegExp(uuidPattern).test(id)) return id.toLowerCase()
  throw new RemoteFault('refused', `${address} answers otherwise than a domain manager: an id is missing`)
}

/** @throws RemoteFault refused, with the first invalid field */
export function sideOf(self: SelfDescription, address: string): Omit<RemoteSide, 'objections'> {
  const { name, size, buildInfo } = self.config
  const { version = unknownVersion } = buildInfo
  const require = (isSo: boolean, field: string): void => {
    if (!isSo) throw new RemoteFault('refused', `${address} describes itself as no domain manager does: ${field}`)
  }
  require(typeof name === 'string' && name.length > 0 && name.length <= longestName, 'config/name')
  require(sizes.includes(size), 'config/size')
  require(typeof version === 'string' && /^\d+\.\d+[\w.+-]{0,40}$/.test(version), 'config/buildInfo/version')
  const shown = (self.network.externalNetworks?.[0]?.ipAddresses ?? []).flatMap(({ ipv4 }) => ipv4?.value ?? [])
  return {
    extId: requireId(self.extId, address),
    name,
    type: 'DOMAIN_MANAGER',
    version,
    nodeAddresses: shown.filter(isIPv4).slice(0, shownNodes),
    manager: { size, isHighlyAvailable: (self.nodeExtIds ?? []).length > 1 },
  }
}
