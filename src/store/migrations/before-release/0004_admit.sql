-- What this created is replaced by 0006_admission.sql of the folder above, which continues after this one.
select 1;
