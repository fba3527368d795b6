/** Registered clients: the services of this product. Source: behaviour iam.md 7. */
import { Client, clientOperations } from '@hyperplane/contract/iam/client'
import { notFound } from '../../core/standard.ts'
import { implement } from '../context.ts'
import { iamClients } from './catalogue/clients.ts'

export const client = implement(clientOperations, {
  async getRegisteredClientById(ctx, { path }) {
    const { extId } = path
    const found = iamClients.find((one) => one.extId === extId)
    if (found === undefined) throw notFound(Client, 'Client', extId, 'extId')
    return { ...found, tenantId: ctx.tenantId }
  },
})
