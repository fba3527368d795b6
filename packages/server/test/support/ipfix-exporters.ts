import { ids } from './clustermgmt.ts'

export const exporters = '/networking/v4.3/config/ipfix-exporters'
export const clusterScope = (uuid = ids.native): object => ({ scopeType: 'PE', uuid })
export const exporterBody = (name: string, more: object = {}): object => ({
  name,
  description: '',
  collectorIp: '192.0.2.10',
  collectorPort: 4739,
  protocol: 'UDP',
  exportScopes: [clusterScope()],
  ...more,
})
