/** Nodes in requests and results: machines that can be in a cluster. Source: catalogue clustermgmt.json; behaviour clustermgmt.md 1.3. */
import * as s from '../schema.ts'
import { IPAddress } from '../shapes.ts'
import { hypervisorType } from './host.ts'

export const macPattern = '^([0-9A-Fa-f]{2}[:-]){5}([0-9A-Fa-f]{2})$'

export const luksStatus = () =>
  s.since('v4.2', s.optional(s.enumeration(['NON_LUKS', 'LUKS', 'PARTIAL_LUKS', 'UNKNOWN_LUKS'])))

const DigitalCertificateMapReference = s.object('clustermgmt.v4.config.DigitalCertificateMapReference', {
  key: s.optional(s.text()),
  value: s.optional(s.text()),
})

/** Fields of a discovered node. A value in a request must agree with the node. */
export const described = {
  nodeUuid: s.optional(s.uuid()),
  blockId: s.optional(s.text()),
  model: s.optional(s.text()),
  hypervisorType: s.optional(hypervisorType),
  hypervisorVersion: s.optional(s.text()),
  nosVersion: s.optional(s.text()),
  isLightCompute: s.optional(s.boolean()),
  isRoboMixedHypervisor: s.optional(s.boolean()),
}

export const placed = {
  nodePosition: s.optional(s.text()),
  currentNetworkInterface: s.optional(s.text()),
  digitalCertificateMapList: s.optional(s.arrayOf(DigitalCertificateMapReference, { maxItems: 1024 })),
}

export const addressed = {
  cvmIp: s.optional(IPAddress),
  hypervisorIp: s.optional(IPAddress),
  ipmiIp: s.optional(IPAddress),
}

const UplinksField = s.object('clustermgmt.v4.config.UplinksField', {
  mac: s.optional(s.text({ pattern: macPattern })),
  name: s.optional(s.text({ maxLength: 64 })),
  value: s.optional(s.text()),
})

/** The uplinks of a node in one virtual switch or bridge of the cluster. */
export const UplinkNetworkItem = s.object('clustermgmt.v4.config.UplinkNetworkItem', {
  name: s.optional(s.text({ maxLength: 64 })),
  networks: s.optional(s.arrayOf(s.text(), { maxItems: 1024 })),
  uplinks: s.optionalObject('clustermgmt.v4.config.Uplinks', {
    active: s.optional(s.arrayOf(UplinksField, { maxItems: 1024 })),
    standby: s.optional(s.arrayOf(UplinksField, { maxItems: 1024 })),
  }),
  vswitchExtId: s.since('v4.2', s.optional(s.text())),
})

export const BundleInfo = s.object('clustermgmt.v4.config.BundleInfo', { name: s.optional(s.text({ maxLength: 64 })) })
