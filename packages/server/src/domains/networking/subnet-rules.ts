/**
 * What a subnet's body may say, and what is stored for it.
 * Source: behaviour networking.md 1.1 (common fields), 1.2.
 */
import type { BodyOf, EntityOf } from '@hyperplane/contract'
import type { Subnet } from '@hyperplane/contract/networking/subnet'
import { VirtualSwitch } from '@hyperplane/contract/networking/virtual-switch'
import { Vpc } from '@hyperplane/contract/networking/vpc'
import type { ApiError } from '../../core/api-error.ts'
import type { Caller } from '../../core/context.ts'
import type { Reader } from '../../store/store.ts'
import type { SubnetEntity } from '../address-plan.ts'
import { canonicalDhcpOptions, canonicalIpConfig, dhcpOptionFaults, fault, ipConfigFaults } from './ip-config.ts'

export type SubnetBody = BodyOf<typeof Subnet>
type SwitchEntity = EntityOf<typeof VirtualSwitch>

/** What the body refers to, or means where it is silent. */
export interface Surroundings {
  readonly virtualSwitch?: SwitchEntity
  readonly vpc?: EntityOf<typeof Vpc>
}

/** A VLAN's switch: the one that is named, else the default one of the cluster, else of the only cluster that has one. */
export async function surroundingsOf(store: Reader, body: SubnetBody): Promise<Surroundings> {
  if (body.subnetType === 'OVERLAY') {
    const vpc = body.vpcReference === undefined ? undefined : await store.get(Vpc, body.vpcReference)
    return vpc === undefined ? {} : { vpc }
  }
  const { virtualSwitchReference, clusterReference } = body
  if (virtualSwitchReference !== undefined) {
    const virtualSwitch = await store.get(VirtualSwitch, virtualSwitchReference)
    return virtualSwitch === undefined ? {} : { virtualSwitch }
  }
  const where = { isDefault: true, ...(clusterReference === undefined ? {} : { clusterExtId: clusterReference }) }
  const found = await store.findWhere(VirtualSwitch, where)
  return found.length === 1 ? { virtualSwitch: found[0]! } : {}
}

/** Every rule that the body alone breaks. */
export function subnetFaults(body: SubnetBody): ApiError[] {
  const isOverlay = body.subnetType === 'OVERLAY'
  const needsRouter = isOverlay || body.isExternal === true
  const [config] = body.ipConfig ?? []
  return [
    ...(isOverlay ? overlayFaults(body) : vlanFaults(body)),
    ...(needsRouter && config === undefined
      ? [fault('ipConfig', 'is required for an overlay or external subnet')]
      : []),
    ...(config === undefined ? [] : ipConfigFaults(config, 'ipConfig[0]', needsRouter)),
    ...(body.isNatEnabled === true && body.isExternal !== true
      ? [fault('isNatEnabled', 'expected only on an external subnet')]
      : []),
    ...(body.dhcpOptions !== undefined && config === undefined
      ? [fault('dhcpOptions', 'expected only with ipConfig: an unmanaged subnet has no DHCP of its own')]
      : []),
    ...(body.dhcpOptions === undefined ? [] : dhcpOptionFaults(body.dhcpOptions, 'dhcpOptions')),
    ...(body.externalDhcpServers === undefined
      ? []
      : [fault('externalDhcpServers', 'expected only on a VLAN subnet with advanced networking and without pools')]),
  ]
}

function vlanFaults({ networkId = 0, vpcReference }: SubnetBody): ApiError[] {
  const faults: ApiError[] = []
  if (networkId > 4095) faults.push(fault('networkId', `expected a VLAN tag from 0 to 4095, found ${networkId}`))
  if (vpcReference !== undefined) faults.push(fault('vpcReference', 'expected only on an overlay subnet'))
  return faults
}

function overlayFaults(body: SubnetBody): ApiError[] {
  const faults: ApiError[] = []
  if (body.vpcReference === undefined) faults.push(fault('vpcReference', 'is required for an overlay subnet'))
  if (body.virtualSwitchReference !== undefined) {
    faults.push(fault('virtualSwitchReference', 'expected only on a VLAN subnet'))
  }
  if (body.networkFunctionChainReference !== undefined) {
    faults.push(fault('networkFunctionChainReference', 'expected only on a VLAN subnet'))
  }
  return faults
}

/** Every rule that the body breaks together with what it refers to. */
export function surroundingFaults(body: SubnetBody, { virtualSwitch, vpc }: Surroundings): ApiError[] {
  if (body.subnetType === 'OVERLAY') {
    return body.isExternal === true && vpc !== undefined && vpc.vpcType !== 'TRANSIT'
      ? [fault('isExternal', 'expected only in a VPC of the type TRANSIT')]
      : []
  }
  const { clusterReference } = body
  if (virtualSwitch === undefined) {
    const text =
      clusterReference === undefined
        ? 'is required: several clusters, or none, have a default virtual switch'
        : 'names a cluster without a default virtual switch'
    return [fault('clusterReference', text)]
  }
  return clusterReference !== undefined && virtualSwitch.clusterExtId !== clusterReference
    ? [fault('virtualSwitchReference', 'expected a virtual switch of the same cluster')]
    : []
}

/** What is stored for a body without faults, but for what the server itself keeps (ids, network identifier, changes). */
export function configurationOf(body: SubnetBody, around: Surroundings, owner: Owner): Omit<SubnetEntity, 'extId'> {
  const { networkId, isNatEnabled, ipConfig, dhcpOptions, metadata, ...rest } = body
  const isOverlay = body.subnetType === 'OVERLAY'
  const { virtualSwitch } = around
  return {
    ...rest,
    ...(isOverlay ? { isAdvancedNetworking: true } : { networkId: networkId ?? 0 }),
    ...(virtualSwitch === undefined
      ? {}
      : { virtualSwitchReference: virtualSwitch.extId, clusterReference: virtualSwitch.clusterExtId! }),
    ...(body.isExternal === true ? { isNatEnabled: isNatEnabled ?? true } : {}),
    ...(ipConfig === undefined || ipConfig.length === 0 ? {} : { ipConfig: ipConfig.map(canonicalIpConfig) }),
    ...(dhcpOptions === undefined ? {} : { dhcpOptions: canonicalDhcpOptions(dhcpOptions) }),
    metadata: metadataOf(metadata, owner),
  }
}

/** Whose a new entity is; an update leaves it with the owner that it has. */
export type Owner = Pick<NonNullable<SubnetBody['metadata']>, 'ownerReferenceId' | 'ownerUserName'>
export const ownedBy = (caller: Caller): Owner => ({ ownerReferenceId: caller.extId, ownerUserName: caller.name })

/** A category stands once, in the order given. */
function metadataOf(given: SubnetBody['metadata'], owner: Owner): NonNullable<SubnetBody['metadata']> {
  return {
    ...owner,
    ...given,
    ...(given?.categoryIds === undefined ? {} : { categoryIds: [...new Set(given.categoryIds)] }),
  }
}
