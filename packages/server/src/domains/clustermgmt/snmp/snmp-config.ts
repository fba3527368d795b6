/** The SNMP agent of a cluster: whether it runs, and where it listens. Source: behaviour clustermgmt.md 1.12. */
import { SnmpSettings, snmpConfigOperations } from '@hyperplane/contract/clustermgmt/snmp-config'
import { ApiError } from '../../../core/api-error.ts'
import { implement } from '../../context.ts'
import { snmpConfigId } from './follow.ts'
import { isSameTransport, type Section, type Transport } from './section.ts'
import { snmpChange, startSnmpChange, storedSection } from './tasks.ts'

const conflict = (fault: string): ApiError[] => [new ApiError('CONFLICT', { fault })]
const has = ({ transports }: Section, transport: Transport): boolean =>
  transports.some((one) => isSameTransport(one, transport))

const updateStatus = snmpChange<{ readonly isEnabled: boolean }>({
  operation: 'Update SNMP Status',
  faults: ({ transports }, { isEnabled }) =>
    isEnabled && transports.length === 0 ? conflict('SNMP has no transport to listen on. Add one first.') : [],
  next: (present, { isEnabled }) => ({ ...present, isEnabled }),
})

const addTransport = snmpChange<{ readonly transport: Transport }>({
  operation: 'Add SNMP Transport',
  faults: () => [],
  next: (present, { transport }) =>
    has(present, transport) ? present : { ...present, transports: [...present.transports, transport] },
})

const removeTransport = snmpChange<{ readonly transport: Transport }>({
  operation: 'Remove SNMP Transport',
  faults(present, { transport }) {
    const id = `${transport.protocol}/${transport.port}`
    if (!has(present, transport))
      return [new ApiError('ENTITY_NOT_FOUND', { kind: 'SNMP transport', id, attribute: 'protocol, port' })]
    const isLast = present.isEnabled && present.transports.length === 1
    return isLast ? conflict(`${id} is the last transport of SNMP, which is enabled. Disable it, or add another.`) : []
  },
  next: (present, { transport }) => ({
    ...present,
    transports: present.transports.filter((one) => !isSameTransport(one, transport)),
  }),
})

export const snmpConfig = implement(
  snmpConfigOperations,
  {
    async getSnmpConfigByClusterId({ store, target, tenantId, version }) {
      const { isEnabled, transports, users, traps } = await storedSection(store, target.extId)
      return {
        extId: snmpConfigId(target.extId),
        tenantId,
        links: [{ rel: 'self', href: `/clustermgmt/${version}/config/clusters/${target.extId}/snmp` }],
        isEnabled,
        transports: [...transports],
        users: [...users],
        traps: [...traps],
      }
    },
    updateSnmpStatus: (ctx, { body }) => startSnmpChange(ctx, ctx.target, updateStatus, { isEnabled: body.isEnabled }),
    addSnmpTransport: (ctx, { body }) =>
      startSnmpChange(ctx, ctx.target, addTransport, { transport: { protocol: body.protocol, port: body.port } }),
    removeSnmpTransport: (ctx, { body }) =>
      startSnmpChange(ctx, ctx.target, removeTransport, { transport: { protocol: body.protocol, port: body.port } }),
  },
  {
    tasks: [updateStatus.task, addTransport.task, removeTransport.task],
    records: [SnmpSettings],
  },
)
