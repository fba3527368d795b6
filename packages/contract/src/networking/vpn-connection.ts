/** An IPsec tunnel between two gateways. Source: catalogue networking.json; behaviour networking.md 1.11, 2. */
import { names } from '../names.ts'
import { create, get, list, remove, resource, update } from '../operation.ts'
import * as s from '../schema.ts'
import { IPAddress } from '../shapes.ts'
import { gatewayReaders, gatewayWriters, mutationRate } from './roles.ts'
import { changeHolding, descriptionText, EntityMetadata, IPSubnet, nameText, ownAttributes, Status } from './shapes.ts'

const authenticationAlgorithm = () =>
  s.withDefault(s.enumeration(['MD5', 'SHA1', 'SHA256', 'SHA384', 'SHA512']), 'SHA256')
const encryptionAlgorithm = () =>
  s.withDefault(s.enumeration(['AES128', 'AES256', 'TRIPLE_DES', 'AES256GCM128']), 'AES256')
const lifetimeSecs = (seconds: number) => s.withDefault(s.integer({ minimum: 300, maximum: 86400 }), seconds)
/** A domain name, address, mail address or distinguished name. Quotes would end a text of a vendor's configuration. */
const authenticationId = () => s.optional(s.text({ minLength: 1, maxLength: 255, pattern: '^[A-Za-z0-9.:@_=,/+ -]+$' }))
const limitMbps = () => s.optional(s.integer({ minimum: 1, maximum: 10000 }))

export const IpsecConfig = s.object('networking.v4.config.IpsecConfig', {
  // Required at creation.
  preSharedKey: s.secret(s.text({ minLength: 8, maxLength: 64, pattern: '^[ -~]+$' })),
  ikeAuthenticationAlgorithm: authenticationAlgorithm(),
  ikeEncryptionAlgorithm: encryptionAlgorithm(),
  ikeLifetimeSecs: lifetimeSecs(28800),
  ipsecAuthenticationAlgorithm: authenticationAlgorithm(),
  ipsecEncryptionAlgorithm: encryptionAlgorithm(),
  ipsecLifetimeSecs: lifetimeSecs(3600),
  espPfsDhGroupNumber: s.withDefault(s.integer({ minimum: 14, maximum: 20 }), 14),
  localAuthenticationId: authenticationId(),
  remoteAuthenticationId: authenticationId(),
  /** The two hosts of a /30; absent: a free one of 169.254.0.0/16. */
  localVtiIp: s.optional(IPAddress),
  remoteVtiIp: s.optional(IPAddress),
})

export const DpdConfig = s.object('networking.v4.config.DpdConfig', {
  intervalSecs: s.withDefault(s.integer({ minimum: 1, maximum: 3600 }), 10),
  timeoutSecs: s.withDefault(s.integer({ minimum: 2, maximum: 86400 }), 30),
  operation: s.withDefault(s.enumeration(['RESTART', 'CLEAR', 'HOLD']), 'RESTART'),
})

/** An absent limit is none. */
export const QosConfig = s.object('networking.v4.config.QosConfig', {
  egressLimitMbps: limitMbps(),
  ingressLimitMbps: limitMbps(),
})

/** CIDR text of the addresses of the tunnel interfaces. */
const interfacePrefix = () => s.optional(s.text())

export const VpnConnection = resource('networking.v4.config.VpnConnection', {
  fields: {
    name: nameText(),
    description: s.optional(descriptionText()),
    localGatewayReference: s.immutable(s.referenceTo('Gateway')),
    remoteGatewayReference: s.immutable(s.referenceTo('Gateway')),
    localGatewayRole: s.enumeration(['INITIATOR', 'ACCEPTOR']),
    ipsecConfig: IpsecConfig,
    dpdConfig: s.withDefault(DpdConfig, { intervalSecs: 10, timeoutSecs: 30, operation: 'RESTART' }),
    dynamicRoutePriority: s.withDefault(s.integer({ minimum: 10, maximum: 1000 }), 500),
    qosConfig: s.optional(QosConfig),
    ipsecTunnelStatus: s.readOnly(Status),
    /** Absent unless both gateways have an AS number. */
    ebgpStatus: s.readOnly(Status),
    learnedPrefixes: s.readOnly(s.arrayOf(IPSubnet, { maxItems: 250 })),
    advertisedPrefixes: s.readOnly(s.arrayOf(IPSubnet, { maxItems: 250 })),
    metadata: s.optional(EntityMetadata),
  },
  internal: {
    interfacePrefix: interfacePrefix(),
    /** When statistics begin. */
    createdAt: s.optional(s.timestamp()),
    change: changeHolding({ name: s.optional(s.text()), interfacePrefix: interfacePrefix() }),
  },
  unique: [
    { fields: ['name'], error: 'NETWORKING_ENTITY_ALREADY_EXISTS' },
    { fields: ['localGatewayReference', 'remoteGatewayReference'], error: 'NETWORKING_ENTITY_ALREADY_EXISTS' },
  ],
  iam: ownAttributes,
  gate: { product: 'FLOW_VIRTUAL_NETWORKING', networkController: true },
  ofCluster: { stays: 'a connection stays with its gateways' },
})

const mutation = { roles: gatewayWriters, rateLimit: mutationRate }
const view = { roles: gatewayReaders }

export const vpnConnectionOperations = {
  listVpnConnections: list('/config/vpn-connections', VpnConnection, {
    ...view,
    filter: names('dynamicRoutePriority, extId, localGatewayReference, name, remoteGatewayReference'),
    orderby: names('dynamicRoutePriority, name'),
  }),
  createVpnConnection: create('/config/vpn-connections', VpnConnection, mutation),
  getVpnConnectionById: get('/config/vpn-connections/{extId}', VpnConnection, view),
  updateVpnConnectionById: update('/config/vpn-connections/{extId}', VpnConnection, mutation),
  deleteVpnConnectionById: remove('/config/vpn-connections/{extId}', VpnConnection, mutation),
}
