/**
 * Jobs of batch tasks: one an element, in its order. The batch writes them; here they are only read.
 * Source: behaviour platform.md 2.
 */
import { taskJobOperations } from '@hyperplane/contract/platform/task-job'
import { implement } from '../context.ts'

export const taskJob = implement(taskJobOperations, {})
