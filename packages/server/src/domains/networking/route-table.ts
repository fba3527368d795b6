/** Route tables: they come and go with their VPC, and are read as they are stored. Source: behaviour networking.md 1.6. */
import { routeTableOperations } from '@hyperplane/contract/networking/route-table'
import { implement } from '../context.ts'

export const routeTable = implement(routeTableOperations, {})
