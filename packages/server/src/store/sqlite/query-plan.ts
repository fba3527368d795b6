import type { QueryPlan } from '../store.ts'
import type { Table } from '../tables.ts'

/** `SEARCH platform_category USING INDEX platform_category__c_key (c_key=? AND sequence>?)` */
const search = /^SEARCH (\w+) USING (?:COVERING )?(?:INDEX|INTEGER PRIMARY KEY|PRIMARY KEY)(?: \w+)? \((.*)\)$/
const sort = /^USE TEMP B-TREE FOR (?:LAST .*)?ORDER BY$/

export function readPlan(steps: readonly { readonly detail: string }[], table: Table): QueryPlan {
  const pathOf = new Map([...table.columnOf].map(([path, column]) => [column, path]))
  const sought = new Set<string>()
  for (const { detail } of steps) {
    const [, name, terms = ''] = search.exec(detail) ?? []
    // Ids in collections are looked up in table `reference`.
    if (name === 'reference') for (const { path } of table.references) sought.add(path.join('/'))
    if (name !== table.name) continue
    for (const [, column = ''] of terms.matchAll(/(\w+)[=<>]/g)) {
      const path = pathOf.get(column)
      if (path !== undefined) sought.add(path)
    }
  }
  const [index] = sought
  return {
    index,
    sought: [...sought],
    isSorted: steps.some(({ detail }) => sort.test(detail)),
  }
}
