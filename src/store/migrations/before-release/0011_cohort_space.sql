-- What this changed is created by 0018_return_curve.sql.
select 1;
