/** Networks of another manager, for layer-2 stretches; not stored. Source: catalogue networking.json; behaviour networking.md 1.13, 2. */
import { get, list, resource } from '../operation.ts'
import * as s from '../schema.ts'
import { HighAvailabilityGroup } from './gateway.ts'
import { gatewayReaders } from './roles.ts'
import { EntityMetadata, IPSubnet, Status } from './shapes.ts'
import { Subnet } from './subnet.ts'
import { DpdConfig, IpsecConfig, QosConfig } from './vpn-connection.ts'

/** Where the entity is, at its manager: neither clusters nor VPCs of other managers are entities here. */
const place = {
  clusterReference: s.optional(s.uuid()),
  clusterName: s.optional(s.text()),
  vpcReference: s.optional(s.uuid()),
  vpcName: s.optional(s.text()),
  metadata: s.optional(EntityMetadata),
} as const

const { fields } = Subnet.schema

export const RemoteSubnet = resource('networking.v4.config.RemoteSubnet', {
  fields: {
    ...place,
    name: s.optional(s.text()),
    description: s.optional(s.text({ multiline: true })),
    subnetType: s.optional(s.enumeration(['OVERLAY', 'VLAN'])),
    networkId: fields.networkId,
    clusterReferenceList: fields.clusterReferenceList,
    clusterNameList: fields.clusterNameList,
    hypervisorType: fields.hypervisorType,
    virtualSwitchReference: s.optional(s.uuid()),
    virtualSwitch: fields.virtualSwitch,
    bridgeName: fields.bridgeName,
    vpc: fields.vpc,
    isExternal: s.optional(s.boolean()),
    isNatEnabled: fields.isNatEnabled,
    isAdvancedNetworking: s.optional(s.boolean()),
    ipConfig: fields.ipConfig,
    dhcpOptions: fields.dhcpOptions,
    externalDhcpServers: fields.externalDhcpServers,
    networkFunctionChainReference: fields.networkFunctionChainReference,
    ipPrefix: fields.ipPrefix,
    dynamicIpAddresses: fields.dynamicIpAddresses,
    reservedIpAddresses: fields.reservedIpAddresses,
    ipUsage: fields.ipUsage,
    migrationState: fields.migrationState,
    layer2StretchReference: fields.layer2StretchReference,
  },
  derived: true,
})

export const RemoteVpnConnection = resource('networking.v4.config.RemoteVpnConnection', {
  fields: {
    ...place,
    name: s.text(),
    description: s.optional(s.text({ multiline: true })),
    localGatewayReference: s.uuid(),
    remoteGatewayReference: s.uuid(),
    localGatewayRole: s.enumeration(['INITIATOR', 'ACCEPTOR']),
    ipsecConfig: IpsecConfig,
    dpdConfig: s.optional(DpdConfig),
    qosConfig: s.optional(QosConfig),
    dynamicRoutePriority: s.optional(s.integer()),
    ipsecTunnelStatus: s.optional(Status),
    ebgpStatus: s.optional(Status),
    advertisedPrefixes: s.optional(s.arrayOf(IPSubnet)),
    learnedPrefixes: s.optional(s.arrayOf(IPSubnet)),
  },
  derived: true,
})

export const RemoteVtepGateway = resource('networking.v4.config.RemoteVtepGateway', {
  fields: {
    ...place,
    name: s.optional(s.text()),
    vxlanPort: s.optional(s.integer()),
    isActive: s.optional(s.boolean()),
    isLocal: s.optional(s.boolean()),
    highAvailabilityGroup: s.optional(HighAvailabilityGroup),
  },
  derived: true,
})

const compared = ['clusterReference', 'extId', 'name', 'vpcReference']
const view = { roles: gatewayReaders }
const several = { ...view, filter: compared, orderby: compared }
const at = <const N extends string>(name: N) => `/config/clusters/{clusterExtId}/${name}` as const
const answered = (name: string) => ({ envelope: `networking.v4.config.${name}ApiResponse` })

export const remoteEntityOperations = {
  listRemoteSubnetsByClusterId: list(at('remote-subnets'), RemoteSubnet, several),
  getRemoteSubnetForClusterById: get(`${at('remote-subnets')}/{extId}`, RemoteSubnet, view),
  listRemoteVpnConnectionsByClusterId: list(at('remote-vpn-connections'), RemoteVpnConnection, {
    ...several,
    ...answered('RemoteVpnConnectionList'),
  }),
  getRemoteVpnConnectionForClusterById: get(`${at('remote-vpn-connections')}/{extId}`, RemoteVpnConnection, {
    ...view,
    ...answered('RemoteVpnConnection'),
  }),
  listRemoteVtepGatewaysByClusterId: list(at('remote-vtep-gateways'), RemoteVtepGateway, {
    ...several,
    ...answered('RemoteVtepGatewayList'),
  }),
  getRemoteVtepGatewayForClusterById: get(`${at('remote-vtep-gateways')}/{extId}`, RemoteVtepGateway, {
    ...view,
    ...answered('RemoteVtepGateway'),
  }),
}
