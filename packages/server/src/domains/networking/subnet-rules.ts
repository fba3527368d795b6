/** Source: behaviour networking.md 1.1 (common fields), 1.2. */
import type { BodyOf, EntityOf } from '@hyperplane/contract'
import type { Subnet } from '@hyperplane/contract/networking/subnet'
import { VirtualSwitch } from '@hyperplane/contract/networking/virtual-switch'
import { Vpc } from '@hyperplane/contract/networking/vpc'
import type { ApiError } from '../../core/api-error.ts'
import { writeAsGiven } from '../../core/ip-address.ts'
import type { Reader } from '../../store/store.ts'
import type { SubnetEntity } from '../addressing/address-plan.ts'
import { controllerOf } from '../admission/network-controllers.ts'
import {
  canonicalDhcpOptions,
  canonicalIpConfig,
  dhcpOptionFaults,
  hostFaults,
  invalidField,
  ipConfigFaults,
} from './ip-config.ts'

export type SubnetBody = BodyOf<typeof Subnet>
type SwitchEntity = EntityOf<typeof VirtualSwitch>

export interface SubnetReferences {
  readonly virtualSwitch?: SwitchEntity
  readonly vpc?: EntityOf<typeof Vpc>
  /** For a VLAN subnet: it is, or will be, in the advanced stack. */
  readonly isAdvanced?: boolean
}

/** A VLAN without a switch gets the default one of its cluster, else the only default one. */
export async function subnetReferences(
  store: Reader,
  body: SubnetBody,
  stored?: SubnetEntity,
): Promise<SubnetReferences> {
  if (body.subnetType === 'OVERLAY') {
    const vpc = body.vpcReference === undefined ? undefined : await store.get(Vpc, body.vpcReference)
    return vpc === undefined ? {} : { vpc }
  }
  const isAdvancedByDefault = async () => (await controllerOf(store))?.defaultVlanStack === 'ADVANCED'
  const isAdvanced = (stored ?? body).isAdvancedNetworking ?? (stored === undefined && (await isAdvancedByDefault()))
  return { isAdvanced, ...(await switchOf(store, body)) }
}

async function switchOf(store: Reader, body: SubnetBody): Promise<SubnetReferences> {
  const { virtualSwitchReference, clusterReference } = body
  if (virtualSwitchReference !== undefined) {
    const virtualSwitch = await store.get(VirtualSwitch, virtualSwitchReference)
    return virtualSwitch === undefined ? {} : { virtualSwitch }
  }
  const where = { isDefault: true, ...(clusterReference === undefined ? {} : { clusterExtId: clusterReference }) }
  const found = await store.findWhere(VirtualSwitch, where)
  return found.length === 1 ? { virtualSwitch: found[0]! } : {}
}

export function subnetFaults(body: SubnetBody): ApiError[] {
  const isOverlay = body.subnetType === 'OVERLAY'
  const needsRouter = isOverlay || body.isExternal === true
  const [config] = body.ipConfig ?? []
  return [
    ...(isOverlay ? overlayFaults(body) : vlanFaults(body)),
    ...(needsRouter && config === undefined
      ? [invalidField('ipConfig', 'is required for an overlay or external subnet')]
      : []),
    ...(config === undefined ? [] : ipConfigFaults(config, 'ipConfig[0]', needsRouter)),
    ...(body.isNatEnabled === true && body.isExternal !== true
      ? [invalidField('isNatEnabled', 'expected only on an external subnet')]
      : []),
    ...(body.dhcpOptions !== undefined && config === undefined
      ? [invalidField('dhcpOptions', 'expected only with ipConfig: an unmanaged subnet has no DHCP of its own')]
      : []),
    ...(body.dhcpOptions === undefined ? [] : dhcpOptionFaults(body.dhcpOptions, 'dhcpOptions')),
    ...relayFaults(body),
  ]
}

function relayFaults({ subnetType, isAdvancedNetworking, ipConfig, externalDhcpServers }: SubnetBody): ApiError[] {
  if (externalDhcpServers === undefined) return []
  const [config] = ipConfig ?? []
  const hasPools = [config?.ipv4, config?.ipv6].some((of) => (of?.poolList?.length ?? 0) > 0)
  const isPossible = subnetType === 'VLAN' && isAdvancedNetworking !== false && !hasPools
  return [
    ...(isPossible ? [] : [invalidField('externalDhcpServers', relayed)]),
    ...externalDhcpServers.flatMap(({ externalDhcpServerIpAddress: address }, index) => {
      const path = `externalDhcpServers[${index}]/externalDhcpServerIpAddress`
      return address === undefined ? [invalidField(path, 'is required')] : hostFaults(address, path)
    }),
  ]
}
const relayed = 'expected only on a VLAN subnet with advanced networking and without pools'

function vlanFaults({ networkId = 0, vpcReference }: SubnetBody): ApiError[] {
  const faults: ApiError[] = []
  if (networkId > 4095) faults.push(invalidField('networkId', `expected a VLAN tag from 0 to 4095, found ${networkId}`))
  if (vpcReference !== undefined) faults.push(invalidField('vpcReference', 'expected only on an overlay subnet'))
  return faults
}

function overlayFaults(body: SubnetBody): ApiError[] {
  const faults: ApiError[] = []
  if (body.vpcReference === undefined) faults.push(invalidField('vpcReference', 'is required for an overlay subnet'))
  if (body.virtualSwitchReference !== undefined) {
    faults.push(invalidField('virtualSwitchReference', 'expected only on a VLAN subnet'))
  }
  if (body.networkFunctionChainReference !== undefined) {
    faults.push(invalidField('networkFunctionChainReference', 'expected only on a VLAN subnet'))
  }
  return faults
}

export function referenceFaults(body: SubnetBody, { virtualSwitch, vpc, isAdvanced }: SubnetReferences): ApiError[] {
  if (body.subnetType === 'OVERLAY') {
    return body.isExternal === true && vpc !== undefined && vpc.vpcType !== 'TRANSIT'
      ? [invalidField('isExternal', 'expected only in a VPC of the type TRANSIT')]
      : []
  }
  const { clusterReference } = body
  if (virtualSwitch === undefined) {
    const text =
      clusterReference === undefined
        ? 'is required: several clusters, or none, have a default virtual switch'
        : 'names a cluster without a default virtual switch'
    return [invalidField('clusterReference', text)]
  }
  return [
    ...(clusterReference !== undefined && virtualSwitch.clusterExtId !== clusterReference
      ? [invalidField('virtualSwitchReference', 'expected a virtual switch of the same cluster')]
      : []),
    ...(body.externalDhcpServers !== undefined && isAdvanced !== true
      ? [invalidField('externalDhcpServers', relayed)]
      : []),
  ]
}

/** Values in which the stored form of a valid body differs from the body, without server-managed ones. */
export function subnetConfigurationOf(
  body: SubnetBody,
  { virtualSwitch, isAdvanced }: SubnetReferences,
): Partial<SubnetEntity> {
  const { networkId = 0, isNatEnabled = true, ipConfig = [], dhcpOptions, externalDhcpServers } = body
  const isOverlay = body.subnetType === 'OVERLAY'
  return {
    networkId: isOverlay ? undefined : networkId,
    ...((isOverlay || isAdvanced === true) && { isAdvancedNetworking: true }),
    ...(virtualSwitch !== undefined && {
      virtualSwitchReference: virtualSwitch.extId,
      clusterReference: virtualSwitch.clusterExtId!,
    }),
    isNatEnabled: body.isExternal === true ? isNatEnabled : undefined,
    ipConfig: ipConfig.length === 0 ? undefined : ipConfig.map(canonicalIpConfig),
    dhcpOptions: dhcpOptions && canonicalDhcpOptions(dhcpOptions),
    externalDhcpServers: externalDhcpServers?.map(canonicalServer),
  }
}

type DhcpServer = NonNullable<SubnetBody['externalDhcpServers']>[number]
const canonicalServer = ({ externalDhcpServerIpAddress: address, ...rest }: DhcpServer): DhcpServer => ({
  ...rest,
  ...(address === undefined ? {} : { externalDhcpServerIpAddress: writeAsGiven(address) }),
})
