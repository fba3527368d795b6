import type { ErrorDefinition } from './operation.ts'

interface Table {
  readonly [key: string]: { readonly [codeAndStatus: string]: string }
}

/** The text before a message: code, status and the group, unless it is the key of the entry. */
export const errorTable = <const T extends Table>(table: T) =>
  Object.fromEntries(
    Object.entries(table).map(([key, entry]) => {
      const [[head, message] = ['', '']] = Object.entries(entry)
      const [code, status, group] = head.split(' ')
      return [key, { code, status: Number(status), message, ...(group !== undefined && { group }) }]
    }),
  ) as { readonly [K in keyof T]: Omit<ErrorDefinition, 'message'> & { readonly message: T[K][keyof T[K]] } }
